// A small separate module of index.html: the first view's requests start while the main code still loads.

/** The page's first requests, as the build lists them; `*` is the last part of the page's path. */
function listRequests(): string[] {
  // Unit tests have no document.
  if (!('document' in globalThis)) return []
  const { requests, requestsWithoutSearch } = document.documentElement.dataset
  const [, , item = ''] = location.pathname.split('/')
  return [requests, location.search === '' ? requestsWithoutSearch : '']
    .flatMap((paths) => paths?.split(' ') ?? [])
    .filter((path) => path !== '')
    .map((path) => path.replace('*', item))
}

const responses = new Map(listRequests().map((path) => [path, fetch(path)]))
// The caller of takeEarlyResponse handles the rejection.
for (const response of responses.values()) response.catch(() => {})

// On a phone the first formatters take tens of milliseconds, which are idle while the main code loads.
if ('document' in globalThis) {
  for (const warmUp of [() => new Intl.NumberFormat(), () => new Intl.DateTimeFormat()]) {
    // Safari has no requestIdleCallback.
    if ('requestIdleCallback' in window) window.requestIdleCallback(warmUp, { timeout: 50 })
    else setTimeout(warmUp)
  }
}

/** The response of a GET sent while the page loaded, only on the first call. `path` includes the query. */
export function takeEarlyResponse(path: string): Promise<Response> | undefined {
  const response = responses.get(path)
  responses.delete(path)
  return response
}

/** Drops unused early responses, which would be stale after the first view. */
export function dropEarlyResponses() {
  responses.clear()
}
