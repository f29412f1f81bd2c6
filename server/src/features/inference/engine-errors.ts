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

/** Returns an engine's error in the protocol's shape: unchanged if it has that already. */
function toOwnShape(
  bytes: Buffer,
  status: number,
  { errors, requestId }: Pick<FailedRequest, 'errors' | 'requestId'>,
): Buffer {
  if (errors.isOwn === undefined) return bytes
  const body = parseJson(bytes)
  if (errors.isOwn(body)) return bytes
  const facts = {
    status,
    detail: readMessage(body) ?? bytes.toString().slice(0, 1_000),
    code: 'engine_error',
  }
  return Buffer.from(JSON.stringify(errors.compose(facts, requestId).body))
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString())
  } catch {
    return null
  }
}

/** The message of an error as engines write it: `error.message`, `error` or `detail`. */
function readMessage(body: unknown): string | null {
  const { error, detail } = (body ?? {}) as { error?: unknown; detail?: unknown }
  const message = (error as { message?: unknown } | null | undefined)?.message ?? error ?? detail
  return typeof message === 'string' ? message : null
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
  if (error === null) return { status, body: toOwnShape(bytes, status, { errors, requestId }) }
  if (error.isModelLost) return 'model_lost'
  const isOverloaded = error.isOverloaded === true || status === 429
  const code = isOverloaded ? 'rate_limited' : status < 500 ? 'invalid_request_error' : 'engine_error'
  const facts = { status: isOverloaded ? 429 : status, detail: error.message, code }
  return { status: facts.status, body: Buffer.from(JSON.stringify(errors.compose(facts, requestId).body)) }
}
