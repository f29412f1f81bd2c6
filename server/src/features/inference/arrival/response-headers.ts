import type { ResponseHeaders } from '../../../gateway/upstream-client/upstream.ts'

/** Upstream headers that are forwarded in addition to the type and length of the body. */
const forwarded = ['content-encoding', 'retry-after', 'x-request-id', 'openai-processing-ms'] as const

/**
 * Composes the response headers as alternating names and values: the gateway's own, overridden by the
 * forwarded upstream headers. `length` is null for a body of unknown length.
 */
export function toResponseHeaders(
  own: Record<string, number | string | string[] | undefined>,
  upstream: ResponseHeaders,
  length: number | null,
  streams: boolean,
): string[] {
  const list: string[] = []
  for (const name in own) {
    const value = own[name]
    if (value === undefined || upstream[name as keyof ResponseHeaders] !== undefined) continue
    if (Array.isArray(value)) for (const each of value) list.push(name, each)
    else list.push(name, String(value))
  }
  const type = upstream['content-type']
  if (type !== undefined) list.push('content-type', type)
  for (const name of forwarded) {
    const value = upstream[name]
    if (value !== undefined) list.push(name, value)
  }
  if (length !== null) list.push('content-length', String(length))
  if (streams) list.push('x-accel-buffering', 'no')
  return list
}
