import { ApplicationError } from '../../../base/errors.ts'
import { UpstreamError } from '../../../gateway/upstream-client/upstream-error.ts'
import { InvalidResponse } from '../../../base/invalid-response.ts'

const retryAfterSeconds = 5

/** The 504 or 502 for an engine that was not reached, broke off, or sent an invalid response. */
export function toGatewayError(error: unknown): ApplicationError {
  if (error instanceof ApplicationError && isForCaller(error)) return error
  if (error instanceof ApplicationError && error.code === 'runtime_unavailable') {
    return new ApplicationError('upstream_unavailable', error.message)
  }
  if (error instanceof UpstreamError && error.kind === 'timeout') {
    return new ApplicationError('upstream_timeout', 'The engine did not respond in time.')
  }
  return new ApplicationError('upstream_unavailable', 'The engine can’t be reached.')
}

function isForCaller({ code }: ApplicationError): boolean {
  return code === 'engine_response_invalid' || code === 'endpoint_refused'
}

/** The 502 for a complete response that makes no sense. */
export function toInvalidResponse(error: unknown): ApplicationError {
  const message =
    error instanceof InvalidResponse ? error.message : 'The engine sent a response that makes no sense.'
  return Object.assign(new ApplicationError('engine_response_invalid', message), { cause: error })
}

/** The 503 for a running deployment whose engine no longer has the model. */
export function modelLost(modelName: string): ApplicationError {
  const message = `The deployment of ${modelName} is being restarted. Retry in a few seconds.`
  return new ApplicationError('deployment_not_ready', message, retryAfterSeconds)
}
