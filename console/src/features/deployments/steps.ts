import type { DeploymentEvent } from '../../../../server/src/contract.ts'

/** Events that follow one another in the same status and stage: a download tells of itself every ten seconds. */
export interface Step {
  at: string
  status: DeploymentEvent['status']
  stage: string | null
  /** What was said last */
  message: string
  /** What was said before, oldest first */
  earlier: DeploymentEvent[]
  /** Milliseconds until the next step; null for the last */
  tookMilliseconds: number | null
}

/** Makes steps of a deployment's events, which are given oldest first. */
export function toSteps(events: readonly DeploymentEvent[]): Step[] {
  const groups: [DeploymentEvent, ...DeploymentEvent[]][] = []
  for (const event of events) {
    const group = groups.at(-1)
    if (group && event.stage !== null && group[0].stage === event.stage && group[0].status === event.status) {
      group.push(event)
    } else groups.push([event])
  }
  return groups.map((group, index) => {
    const [{ at, status, stage }] = group
    const next = groups[index + 1]?.[0]
    return {
      at,
      status,
      stage,
      message: group.at(-1)?.message ?? '',
      earlier: group.slice(0, -1),
      tookMilliseconds: next ? Date.parse(next.at) - Date.parse(at) : null,
    }
  })
}

/** The key, in the texts of steps, of what a step is called. */
export function nameStep({ status, stage }: Pick<Step, 'status' | 'stage'>): string {
  if (stage === null) return status
  if (stage === 'provisioning' && status === 'provisioning') return 'waiting_for_instance'
  if (stage === 'termination' && status === 'failed') return 'given_back'
  return stage
}

/** Adds an event that may be known already, in its place by time. */
export function mergeEvent(events: readonly DeploymentEvent[], added: DeploymentEvent): DeploymentEvent[] {
  const known = events.some(({ at, message }) => at === added.at && message === added.message)
  if (known) return [...events]
  return [...events, added].toSorted((one, other) => Date.parse(one.at) - Date.parse(other.at))
}

/** Milliseconds from the request to the first answer; null where it never ran. */
export function findStartTime(events: readonly DeploymentEvent[]): number | null {
  const [first] = events
  const running = events.find(({ status }) => status === 'running')
  return first && running ? Date.parse(running.at) - Date.parse(first.at) : null
}
