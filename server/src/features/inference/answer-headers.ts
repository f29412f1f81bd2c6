import type { AnswerHeaders } from './engine-client/client.ts'

/** What of an engine's head reaches the caller, the type and length of its body aside. */
const returned = ['content-encoding', 'retry-after', 'x-request-id', 'openai-processing-ms'] as const

/**
 * The head for the caller as names and values in turn: the gateway's own headers and those of the engine's that are listed.
 * `length` null: the body's length is not known before its end.
 */
export function toAnswerHeaders(
  own: Record<string, number | string | string[] | undefined>,
  headers: AnswerHeaders,
  { length, streams }: { length: number | null; streams: boolean },
): string[] {
  const list: string[] = []
  for (const name in own) {
    const value = own[name]
    if (value === undefined || headers[name as keyof AnswerHeaders] !== undefined) continue
    if (Array.isArray(value)) for (const each of value) list.push(name, each)
    else list.push(name, String(value))
  }
  const type = headers['content-type']
  if (type !== undefined) list.push('content-type', type)
  for (const name of returned) {
    const value = headers[name]
    if (value !== undefined) list.push(name, value)
  }
  if (length !== null) list.push('content-length', String(length))
  if (streams) list.push('x-accel-buffering', 'no')
  return list
}
