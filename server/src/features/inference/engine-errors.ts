import type { ModelRuntime } from '../../ports/model-runtime.ts'
import type { ErrorFormat } from './protocols/protocol.ts'

/** The facts about a request that the translation of an error needs. */
interface FailedRequest {
  modelUid: string
  requestId: string
  errors: ErrorFormat
}

/** An error response of an engine, as its caller gets it. */
export interface CallerError {
  status: number
  /** `bytes` if the engine's own body is forwarded */
  body: Buffer
}

/**
 * Translates an error response of an engine: `model_lost` when the engine no longer has the model. A body that the runtime reads becomes
 * the protocol's shape, and a 429 if the engine has no room. Any other body is returned unchanged.
 */
export function translateEngineError(
  runtime: Pick<ModelRuntime, 'readEngineError'>,
  status: number,
  bytes: Buffer,
  { modelUid, requestId, errors }: FailedRequest,
): CallerError | 'model_lost' {
  const error = runtime.readEngineError?.({ status, body: bytes.toString(), modelUid }) ?? null
  if (error === null) return { status, body: bytes }
  if (error.isModelLost) return 'model_lost'
  const isOverloaded = error.isOverloaded === true || status === 429
  const code = isOverloaded ? 'rate_limited' : status < 500 ? 'invalid_request_error' : 'engine_error'
  const facts = { status: isOverloaded ? 429 : status, detail: error.message, code }
  return { status: facts.status, body: Buffer.from(JSON.stringify(errors.compose(facts, requestId).body)) }
}
