import type { EventTransition, PhaseDuration, TransitionPhase } from '../state/event-transition.ts'
import type { DeploymentEvent } from '../state/store.ts'

type StartEvent = Pick<DeploymentEvent, 'at' | 'status' | 'stage' | 'transition'>

/** Measures a start and its phases. `events`: since the last run or sleep; `ranBefore`: it ever served. */
export function measureStart(
  events: readonly StartEvent[],
  readyAt: Date,
  ranBefore: boolean,
): EventTransition {
  const before = events.findLastIndex(({ status }) => status === 'running' || status === 'sleeping')
  const ofStart = events.slice(before + 1)
  const wake = ofStart.find(({ transition }) => transition?.type === 'wake')?.transition
  return { ...(wake ?? (ranBefore ? restart : start)), phases: measurePhases(ofStart, readyAt) }
}

const start = {
  type: 'start',
  cause: null,
  route: null,
  user_id: null,
  idle_minutes: null,
  after_seconds: null,
} as const
const restart = { ...start, type: 'restart' } as const

function measurePhases(ofStart: readonly StartEvent[], readyAt: Date): PhaseDuration[] {
  const milliseconds = new Map<TransitionPhase, number>()
  for (const [index, event] of ofStart.entries()) {
    const phase = findPhase(event)
    if (phase === null) continue
    const until = ofStart[index + 1]?.at ?? readyAt
    milliseconds.set(phase, (milliseconds.get(phase) ?? 0) + until.getTime() - event.at.getTime())
  }
  return startPhases.flatMap((phase) => {
    const spent = milliseconds.get(phase)
    return spent === undefined ? [] : [{ phase, seconds: toSeconds(spent) }]
  })
}

const startPhases = ['provisioning', 'download', 'start'] as const

function findPhase({ status, stage }: StartEvent): TransitionPhase | null {
  if (status === 'provisioning') return 'provisioning'
  if (status !== 'deploying') return null
  return stage === 'model_download' ? 'download' : 'start'
}

/** Measures a sleep that `begun` started at `begunAt`; its last instance is released since `releasingAt`. */
export function measureSleep(
  begun: EventTransition,
  begunAt: Date,
  { releasingAt, at }: { releasingAt: Date; at: Date },
): EventTransition {
  const drain = { phase: 'drain' as const, seconds: toSeconds(releasingAt.getTime() - begunAt.getTime()) }
  const release = { phase: 'release' as const, seconds: toSeconds(at.getTime() - releasingAt.getTime()) }
  return { ...begun, phases: holdsRequests(begun) ? [drain, release] : [release] }
}

/** Without a serving instance, no request is finished before the release. */
const holdsRequests = ({ cause }: EventTransition) => cause !== 'refusal' && cause !== 'failure'

const toSeconds = (milliseconds: number) => Math.max(0, milliseconds) / 1000
