import type { DeploymentEvent } from '../../contract.ts'
import { isChanging } from '../../domain/deployments/status.ts'

/** Consecutive events of one status and stage: a download, say, reports progress every ten seconds. */
export interface Step {
  at: string
  /** A person changed a setting, and the deployment went on as before. */
  isChange: boolean
  status: DeploymentEvent['status']
  stage: string | null
  /** The message of the last event. */
  message: string
  /** The instance type that the last event reports as chosen; null if it reports something else. */
  instance_type: string | null
  /** What begins or ends with the last event */
  transition: DeploymentEvent['transition']
  /** The earlier events, oldest first. */
  earlier: DeploymentEvent[]
  /** Milliseconds that the step took, or its status lasted; null while unknown, and for moments */
  tookMilliseconds: number | null
}

/** Statuses in which a deployment may stay */
const settled: ReadonlySet<string> = new Set(['running', 'sleeping', 'failed', 'terminated'])

/** Groups a deployment's events into steps; expects the events oldest first. */
export function toSteps(events: readonly DeploymentEvent[]): Step[] {
  const groups: [DeploymentEvent, ...DeploymentEvent[]][] = []
  for (const event of events) {
    const group = groups.at(-1)
    if (group && event.stage !== null && group[0].stage === event.stage && group[0].status === event.status) {
      group.push(event)
    } else groups.push([event])
  }
  const changes = groups.map(([event], index) => isChange(event, groups[index - 1]?.[0]))
  return groups.map((group, index) => {
    const [{ at, status, stage }] = group
    const transition = group.at(-1)?.transition ?? null
    const isStatus = settled.has(status) && (stage === null || transition?.phases != null)
    const isMomentary = changes[index]! || (settled.has(status) && !isStatus && stage !== 'sleep')
    const next = groups.find(
      ([other], place) => place > index && !changes[place] && !(isStatus && other.status === status),
    )?.[0]
    return {
      at,
      isChange: changes[index]!,
      status,
      stage,
      message: group.at(-1)?.message ?? '',
      instance_type: group.at(-1)?.instance_type ?? null,
      transition,
      earlier: group.slice(0, -1),
      tookMilliseconds: next && !isMomentary ? Date.parse(next.at) - Date.parse(at) : null,
    }
  })
}

/** A deployment runs again with an event without a stage too, but after one that has a stage. */
function isChange(
  { stage, status, transition }: DeploymentEvent,
  before: DeploymentEvent | undefined,
): boolean {
  if (stage !== null || transition !== null || status !== before?.status) return false
  return before.stage === null || status !== 'running'
}

/** The last step while in progress. If events are ahead, the message belongs to an earlier step. */
export function findCurrentStep(
  steps: readonly Step[],
  deployment: Parameters<typeof isChanging>[0],
): Step | null {
  const last = steps.at(-1)
  return last !== undefined && isChanging(deployment) && last.status === deployment.status ? last : null
}

const ends = { start: 'running', restart: 'again', wake: 'awake', sleep: 'asleep' } as const

/** The key of a step's name in the texts. */
export function nameStep({
  isChange: isOfPerson,
  status,
  stage,
  transition,
}: Pick<Step, 'isChange' | 'status' | 'stage' | 'transition'>): string {
  if (isOfPerson) return 'changed'
  if (transition?.cause === 'refusal') return status === 'sleeping' ? 'asleep' : 'refused'
  if (transition?.phases) return ends[transition.type]
  if (stage === null) return status
  if (stage === 'provisioning' && status === 'provisioning') return 'waiting_for_instance'
  if (stage === 'termination' && (status === 'failed' || status === 'running')) return 'given_back'
  return stage
}
