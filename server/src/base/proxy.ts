import type { AgentOptions } from 'node:https'
import { EnvHttpProxyAgent, fetch as send } from 'undici'
import type { Agent } from 'undici'
import type { ProxySettings } from '../config/proxy.ts'
import { isLoopbackHost } from './loopback.ts'

const none: ProxySettings = { http: null, https: null, exceptions: null }

/** The proxy of requests to an address; null for none. Decides as undici and Node do. */
export function findProxy(
  { http, https, exceptions }: ProxySettings,
  { protocol, host, hostname }: URL,
): string | null {
  if (isLoopbackHost(hostname)) return null
  const isException = (exceptions ?? '').split(',').some((entry) => {
    const suffix = /^\*?(\..+)/.exec(entry)?.[1]
    return entry === '*' || entry === hostname || entry === host || (suffix && hostname.endsWith(suffix))
  })
  return isException ? null : protocol === 'https:' ? https : http
}

/** Opens an agent of undici that sends requests through the proxies. */
export function openProxyAgent(
  { http, https, exceptions }: ProxySettings = none,
  options: Agent.Options = {},
): EnvHttpProxyAgent {
  return new EnvHttpProxyAgent({
    ...options,
    // Empty strings, because undici reads omitted options from the environment.
    httpProxy: http ?? '',
    httpsProxy: https ?? '',
    noProxy: exceptions ?? '',
  })
}

/** Returns a `fetch` that sends requests through the proxies. */
export function openProxyFetch(proxy: ProxySettings): typeof fetch {
  const dispatcher = openProxyAgent(proxy)
  const sendThrough = (input: string | URL, init: object) => send(input, { ...init, dispatcher })
  // undici's types of responses differ from those of Node.
  return sendThrough as unknown as typeof fetch
}

/** The options of an agent of Node that sends requests through the proxies. */
export function proxyAgentOptions({ http, https, exceptions }: ProxySettings): AgentOptions {
  return {
    keepAlive: true,
    proxyEnv: { HTTP_PROXY: http ?? '', HTTPS_PROXY: https ?? '', NO_PROXY: exceptions ?? '' },
  }
}
