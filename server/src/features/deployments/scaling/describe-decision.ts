import type { EventContent } from '../state/change-store.ts'
import type { ScalingDecision } from './decide-instances.ts'

/** The event of a decision that changes the number of instances from `current`; null if it needs none. */
export function describeDecision(
  { desired, reason }: Pick<ScalingDecision, 'desired' | 'reason'>,
  current: number,
  inFlight: number,
): EventContent | null {
  const cause = describeCause(reason, inFlight)
  if (cause === null || desired === current) return null
  const count = Math.abs(desired - current)
  const instances = count === 1 ? 'one more instance' : `${count} more instances`
  const message =
    desired > current
      ? `Starts ${instances}, ${desired} in total, because ${cause}.`
      : `Goes down to ${desired} ${desired === 1 ? 'instance' : 'instances'}, because ${cause}.`
  return { stage: 'scaling', message }
}

function describeCause(reason: ScalingDecision['reason'], inFlight: number): string | null {
  switch (reason) {
    case 'load':
    case 'burst':
      return `${inFlight} ${inFlight === 1 ? 'request is' : 'requests are'} in flight`
    case 'lower_load':
      return 'fewer requests are in flight'
    case 'minimum':
      return 'the policy asks for them'
    case 'maximum':
      return 'the policy allows no more'
    case 'schedule':
      return 'a schedule asks for them'
    default:
      return null
  }
}
