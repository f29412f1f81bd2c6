// index.html loads this small module separately, so that the first view's requests start while the main code still loads.

const everyPage = ['/v1/auth/session', '/v1/organization', '/v1/user/organizations']
const deployments = '/api/v1/model-deployments?active=true&limit=50&offset=0'
const models = ['LLM', 'embedding'].map((type) => `/api/v1/deployable-models?model_type=${type}`)
const placements = '/api/v1/placements'

/** The first requests of a page, as its `prefetch` sends them. */
function listRequests({ pathname, search }: Location): string[] {
  if (/^\/catalog\/[^/]+$/.test(pathname)) {
    return [pathname.replace('/catalog', '/api/v1/deployable-models'), deployments, placements]
  }
  if (pathname === '/catalog') return [...models, placements]
  if (pathname === '/playground') {
    const embedding = '/api/v1/deployable-models?model_type=embedding&enabled_only=false'
    return ['/api/v1/model-deployments?active=true&limit=500', embedding, ...models]
  }
  if (search !== '') return []
  if (pathname === '/' || pathname === '/deployments') return [deployments]
  return pathname === '/usage' ? ['/v1/billing/usage-summary', '/v1/billing/usage'] : []
}

// Unit tests have no document.
const hasSession = 'document' in globalThis && document.documentElement.dataset.session !== 'none'
const paths = hasSession ? [...everyPage, ...listRequests(location)] : []
const answers = new Map(paths.map((path) => [path, fetch(path)]))
// The caller of takeEarlyResponse handles the rejection.
for (const answer of answers.values()) answer.catch(() => {})

// The first formatters take tens of milliseconds on a phone, which has nothing else to do while the main code loads.
if ('document' in globalThis) {
  for (const warmUp of [() => new Intl.NumberFormat(), () => new Intl.DateTimeFormat()]) {
    // Safari has no requestIdleCallback.
    if ('requestIdleCallback' in window) window.requestIdleCallback(warmUp, { timeout: 50 })
    else setTimeout(warmUp)
  }
}

/** Returns the response of a GET that was sent while the page loaded; undefined on the second call. `path` includes the query. */
export function takeEarlyResponse(path: string): Promise<Response> | undefined {
  const answer = answers.get(path)
  answers.delete(path)
  return answer
}

/** Drops unused early responses, which would be stale after the first view. */
export function dropEarlyResponses() {
  answers.clear()
}
