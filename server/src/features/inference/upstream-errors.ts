import { ApplicationError } from '../../errors.ts'
import { EngineFailure } from './engine-client/client.ts'

/** What the caller is told of an engine that can't be reached, or that broke off before its answer was there. */
export function toUpstreamError(error: unknown): ApplicationError {
  if (error instanceof EngineFailure && error.kind === 'silent') {
    return new ApplicationError('upstream_timeout', 'upstream_timeout', 'The engine did not answer in time.')
  }
  const message = 'The engine can’t be reached now.'
  return new ApplicationError('upstream_failed', 'upstream_unavailable', message)
}
