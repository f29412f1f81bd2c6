/** Idempotency keys of requests without an answer: the next click of the same kind repeats the request. */
const unanswered = new Map<string, string>()

/** A key that no other request has. Pages without TLS have no randomUUID. */
export const createKey = (): string => crypto.getRandomValues(new Uint32Array(4)).join('-')

/** Fetches with an idempotency key, and again while the request of an earlier click runs. */
export async function fetchOnce(url: string, init: RequestInit): Promise<Response> {
  const intent = `${url} ${init.body as string}`
  const key = unanswered.get(intent) ?? createKey()
  unanswered.set(intent, key)
  const headers = new Headers(init.headers)
  headers.set('idempotency-key', key)
  for (;;) {
    const response = await fetch(url, { ...init, headers })
    const seconds = Number(response.headers.get('retry-after'))
    if (response.status !== 409 || seconds === 0) {
      // A proxy may have lost the answer of the server.
      if (response.status < 500) unanswered.delete(intent)
      return response
    }
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
  }
}
