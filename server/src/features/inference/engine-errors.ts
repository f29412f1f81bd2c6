import type { ModelRuntime } from '../../ports/model-runtime.ts'
import type { ErrorFormat } from './protocols/protocol.ts'

/** The facts about a request that the translation of an error needs. */
interface FailedRequest {
  modelUid: string
  requestId: string
  errors: ErrorFormat
}

/**
 * Translates an error response of an engine: `model_lost` when the engine no longer has the model, otherwise the body for the
 * caller. A body that the runtime reads becomes the protocol's shape. Any other body is returned unchanged.
 */
export function translateEngineError(
  runtime: Pick<ModelRuntime, 'readEngineError'>,
  status: number,
  bytes: Buffer,
  { modelUid, requestId, errors }: FailedRequest,
): Buffer | 'model_lost' {
  const error = runtime.readEngineError?.({ status, body: bytes.toString(), modelUid }) ?? null
  if (error === null) return bytes
  if (error.isModelLost) return 'model_lost'
  const code = status < 500 ? 'invalid_request_error' : 'engine_error'
  return Buffer.from(JSON.stringify(errors.compose({ status, detail: error.message, code }, requestId).body))
}
