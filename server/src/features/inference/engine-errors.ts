import { toOpenAiError } from './schemas.ts'

/**
 * What an engine's error means: `gone` where it no longer has the model that the request was for, else the body for the caller.
 * FastAPI's `{"detail": …}`, in which Xinference answers, becomes OpenAI's shape; every other body stays as it is.
 */
export function readEngineError(status: number, bytes: Buffer, modelUid: string): Buffer | 'gone' {
  const text = bytes.toString()
  if ((status === 400 || status === 404) && /not found/i.test(text) && text.includes(modelUid)) return 'gone'
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
  const told = typeof detail === 'string' ? detail : JSON.stringify(detail)
  // Where inside a cluster it happened is nobody's business.
  return told.replace(/^(\s*\[address=[^\]]*\]\s*)+/, '')
}
