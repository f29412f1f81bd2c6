// index.html loads this small module separately, so that the first view's requests start while the main code still loads.

// Unit tests have no document.
const hasSession = 'document' in globalThis && document.documentElement.dataset.session !== 'none'
const paths = hasSession ? ['/v1/auth/session', '/v1/organization'] : []
const answers = new Map(paths.map((path) => [path, fetch(path)]))
// The caller of takeEarlyResponse handles the rejection.
for (const answer of answers.values()) answer.catch(() => {})

/** Returns the response of a GET that was sent while the page loaded; undefined on the second call. */
export function takeEarlyResponse(path: string): Promise<Response> | undefined {
  const answer = answers.get(path)
  answers.delete(path)
  return answer
}

/** Drops unused early responses, which would be stale after the first view. */
export function dropEarlyResponses() {
  answers.clear()
}
