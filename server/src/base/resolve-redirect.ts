import { isLoopbackHost } from './loopback.ts'
import { isInternalHost } from './outgoing-addresses.ts'

/**
 * Resolves a redirect to https, to the same http server, or from loopback to loopback; null for others. A
 * public host can't redirect to a private address.
 */
export function resolveRedirect(from: URL, location: string): URL | null {
  const to = URL.parse(location, from.href)
  if (to !== null && isInternalHost(to) && !isInternalHost(from)) return null
  if (to?.protocol === 'https:') return to
  if (to?.protocol !== 'http:' || from.protocol !== 'http:') return null
  const isNear = to.host === from.host || (isLoopbackHost(to.hostname) && isLoopbackHost(from.hostname))
  return isNear ? to : null
}
