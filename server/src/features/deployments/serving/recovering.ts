import { ApplicationError } from '../../../base/errors.ts'
import { findPause } from '../state/recovery.ts'
import type { Recovery } from '../state/recovery.ts'
import type { ServingDeployment } from './serving-deployments.ts'

/** While an attempt is under way */
const retryAfterSeconds = 5

/** True if a request to the deployment waits until it is awake, and wakes it if it sleeps. */
export function mayWake(
  { isWaking, recovery }: Pick<ServingDeployment, 'isWaking' | 'recovery'>,
  now: Date,
): boolean {
  return isWaking && findPause(recovery, now) === 0
}

/** The error for requests to a deployment between two attempts to start it; null for none. */
export function findRecoveryError(
  modelName: string,
  recovery: Recovery | null,
  now: Date,
): ApplicationError | null {
  if (recovery?.next_at == null) return null
  const pause = findPause(recovery, now)
  const seconds = pause === 0 ? retryAfterSeconds : Math.ceil(pause / 1_000)
  const message = `${modelName} does not serve at the moment. ${recovery.cause.message} Retry in ${seconds} seconds.`
  return new ApplicationError('deployment_not_ready', message, seconds)
}
