import type { Deployment } from '../../../contract.ts'
import type { DeploymentAccess } from '../../../domain/deployments/access.ts'
import { isEnding, isFinished } from '../../../domain/deployments/status.ts'
import type { text } from '../../../text/index.ts'
import { findSleepAction } from '../sleep-action.ts'

/** What can be done to several deployments at once */
export const acts = ['sleep', 'wake', 'terminate'] as const
export type Act = (typeof acts)[number]

/** Why an act leaves a deployment out; null if it doesn't. */
export function judgeAct(
  act: Act,
  deployment: Deployment,
  { change, terminate }: Pick<DeploymentAccess, 'change' | 'terminate'>,
): keyof typeof text.bulk.reasons | null {
  if (isEnding(deployment)) return 'ended'
  if (!(act === 'terminate' ? terminate : change)) return 'role'
  if (act === 'terminate') return null
  if (isFinished(deployment)) return 'ended'
  const possible = findSleepAction(deployment)
  if (possible === act) return null
  if (act === 'wake') return 'awake'
  return possible === null ? 'notRunning' : 'asleep'
}
