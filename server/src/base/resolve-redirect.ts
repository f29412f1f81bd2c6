import { isLoopbackHost } from './loopback.ts'

/**
 * Resolves the redirect of a download, or returns null if it must not be followed. Targets have https. One
 * with http must be the same server, or on this machine as the server that redirects.
 */
export function resolveRedirect(from: URL, location: string): URL | null {
  const to = URL.parse(location, from.href)
  if (to?.protocol === 'https:') return to
  if (to?.protocol !== 'http:' || from.protocol !== 'http:') return null
  const isNear = to.host === from.host || (isLoopbackHost(to.hostname) && isLoopbackHost(from.hostname))
  return isNear ? to : null
}
