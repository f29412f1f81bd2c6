/** A shorter text may be a part of any word. */
const leastLength = 4

/** An error of an engine without the key that it got: servers may repeat what they refuse. */
export function hideKey(body: string | Buffer, authorization: string | null): string | Buffer {
  const key = (authorization ?? '').replace(/^Bearer /, '')
  if (key.length < leastLength) return body
  const text = typeof body === 'string' ? body : body.toString('latin1')
  const forms = new Set([key, JSON.stringify(key).slice(1, -1), encodeURIComponent(key)])
  if (![...forms].some((form) => text.includes(form))) return body
  return [...forms].reduce((hidden, form) => hidden.replaceAll(form, '***'), text)
}
