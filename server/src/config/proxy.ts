/** Proxies for outgoing requests; null for none. `exceptions` are hosts to reach directly, with commas. */
export interface ProxySettings {
  http: string | null
  https: string | null
  exceptions: string | null
}

const none: ProxySettings = { http: null, https: null, exceptions: null }
/** This machine, and with it its engines, is never reached through a proxy. */
const ownNames = ['localhost', '127.0.0.1', '::1', '[::1]']

/** Reads the values of the variables. A name includes its subdomains; Node needs them spelled out. */
export function readProxy(given: Partial<Record<keyof ProxySettings, string | undefined>>): ProxySettings {
  const { http = null, https = http, exceptions = '' } = given
  if (https === null) return none
  const entries = exceptions.toLowerCase().split(/[,\s]+/)
  const names = entries.filter((entry) => /^[^*.\d[]/.test(entry))
  const all = [...ownNames, ...entries, ...names.map((name) => `.${name}`)]
  return { http, https, exceptions: all.filter((entry) => entry !== '').join(',') }
}
