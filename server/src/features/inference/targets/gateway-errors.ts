import { ApplicationError } from '../../../base/errors.ts'
import { UpstreamError } from '../../../gateway/upstream-client/upstream-error.ts'

const retryAfterSeconds = 5

/** The 504 or 502 for an engine that could not be reached or broke off before its response was complete. */
export function toGatewayError(error: unknown): ApplicationError {
  if (error instanceof UpstreamError && error.kind === 'timeout') {
    return new ApplicationError('upstream_timeout', 'The engine did not respond in time.')
  }
  return new ApplicationError('upstream_unavailable', 'The engine can’t be reached.')
}

/** The 503 for a running deployment whose engine no longer has the model. */
export function modelLost(modelName: string): ApplicationError {
  const message = `The deployment of ${modelName} is being restarted. Retry in a few seconds.`
  return new ApplicationError('deployment_not_ready', message, retryAfterSeconds)
}
