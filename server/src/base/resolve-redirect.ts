import { isLoopbackHost } from './loopback.ts'

/** Resolves a redirect to https, to the same http server, or from loopback to loopback; null for others. */
export function resolveRedirect(from: URL, location: string): URL | null {
  const to = URL.parse(location, from.href)
  if (to?.protocol === 'https:') return to
  if (to?.protocol !== 'http:' || from.protocol !== 'http:') return null
  const isNear = to.host === from.host || (isLoopbackHost(to.hostname) && isLoopbackHost(from.hostname))
  return isNear ? to : null
}
