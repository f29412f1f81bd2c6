import { toOpenAiError } from './schemas.ts'

/**
 * Translates an error response of an engine: `model_lost` when the engine no longer has the model, otherwise the body for the
 * caller. FastAPI's `{"detail": …}`, which Xinference sends, becomes OpenAI's shape. Any other body is returned unchanged.
 */
export function translateEngineError(status: number, bytes: Buffer, modelUid: string): Buffer | 'model_lost' {
  const text = bytes.toString()
  if ((status === 400 || status === 404) && /not found/i.test(text) && text.includes(modelUid))
    return 'model_lost'
  const detail = readDetail(text)
  if (detail === null) return bytes
  const code = status < 500 ? 'invalid_request_error' : 'engine_error'
  return Buffer.from(JSON.stringify(toOpenAiError({ status, detail, code }).body))
}

function readDetail(text: string): string | null {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    return null
  }
  const { detail, error } = (body ?? {}) as { detail?: unknown; error?: unknown }
  if (error !== undefined || detail === undefined) return null
  const message = typeof detail === 'string' ? detail : JSON.stringify(detail)
  // Xinference puts an address inside its cluster in front, which callers must not see.
  return message.replace(/^(\s*\[address=[^\]]*\]\s*)+/, '')
}
