import type { EngineError, EngineErrorResponse } from '../../ports/model-runtime.ts'

/** Reads an error in FastAPI's shape, `{"detail": …}`; null for other shapes. */
export function readFastApiError({ body }: Pick<EngineErrorResponse, 'body'>): EngineError | null {
  const { detail, error } = parseObject(body)
  if (error !== undefined || detail === undefined) return null
  return { isModelLost: false, message: typeof detail === 'string' ? detail : JSON.stringify(detail) }
}

function parseObject(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>
  } catch {
    return {}
  }
}
