import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { z } from 'zod'
import { commaList, flag, oneOf, webAddress } from './values.ts'

/** The proxies and origins that the server trusts over HTTP, and its limits on callers. */
export interface HttpConfig {
  /** Addresses of reverse proxies whose `X-Forwarded-*` headers are trusted; false for none */
  trustProxy: string[] | false
  /** Hosts of requests besides loopback, `publicUrl`'s first; null for any, while `PUBLIC_URL` is unset */
  hosts: string[] | null
  sessionCookie: { name: string; secure: boolean; sameSite: 'strict' | 'lax' | 'none' }
  csrfTrustedOrigins: string[]
  /** Most open event streams. Above them, callers get a 429. */
  eventStreams: { perUser: number; perProcess: number }
  /** Callers that send a body or read a response below this rate for this long are disconnected */
  minimumRate: { bytesPerSecond: number; timeoutMilliseconds: number }
  /** Accounts of one network, and its requests to each route without a session in each process */
  networkLimits: { registrationsPerHour: number; requestsPerMinute: number }
}

const proxyNames = new Set(['loopback', 'linklocal', 'uniquelocal'])

/** True for an address, a network or a name that `proxy-addr` accepts. */
function isProxyAddress(text: string): boolean {
  const isNetwork = ipaddr.IPv4.isValidCIDRFourPartDecimal(text) || ipaddr.IPv6.isValidCIDR(text)
  return proxyNames.has(text) || isIP(text) !== 0 || (isNetwork && !/\/0/.test(text))
}

const proxyAddresses = commaList.refine(
  (addresses) => addresses.every(isProxyAddress),
  'must be addresses or networks separated by commas, such as 10.0.0.1, 192.168.0.0/16, loopback',
)

const hostName = z
  .string()
  .toLowerCase()
  .regex(
    /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?|\[[0-9a-f:.]+\])$/,
    'must be host names or addresses without a port, such as berth.internal, 10.0.0.5',
  )

const origin = webAddress('https://console.example.com')
  .refine(
    ({ pathname, hostname }) => pathname === '/' && !hostname.includes('*'),
    'must be origins such as https://console.example.com, without a path or *',
  )
  .transform((url) => url.origin)

export const httpSettings = {
  TRUST_PROXY: proxyAddresses.optional(),
  ALLOWED_HOSTS: commaList.pipe(z.array(hostName)).default([]),
  SESSION_COOKIE_NAME: z
    .string()
    .regex(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/, 'must be a cookie name: letters, digits, - and _')
    .optional(),
  SESSION_COOKIE_SECURE: flag.optional(),
  SESSION_COOKIE_SAMESITE: oneOf(['strict', 'lax', 'none']).default('lax'),
  CSRF_TRUSTED_ORIGINS: commaList.pipe(z.array(origin)).default([]),
}

type Settings = z.output<z.ZodObject<typeof httpSettings>>

/** `publicUrl` is `PUBLIC_URL`; undefined if that is unset. */
export function readHttp(settings: Settings, publicUrl: URL | undefined, problems: string[]): HttpConfig {
  return {
    trustProxy: settings.TRUST_PROXY ?? false,
    hosts: publicUrl === undefined ? null : [publicUrl.hostname, ...settings.ALLOWED_HOSTS],
    sessionCookie: readSessionCookie(settings, publicUrl?.protocol === 'https:', problems),
    csrfTrustedOrigins: settings.CSRF_TRUSTED_ORIGINS,
    eventStreams: { perUser: 100, perProcess: 5_000 },
    minimumRate: { bytesPerSecond: 500, timeoutMilliseconds: 30_000 },
    networkLimits: { registrationsPerHour: 300, requestsPerMinute: 600 },
  }
}

function readSessionCookie(
  settings: Settings,
  isHttps: boolean,
  problems: string[],
): HttpConfig['sessionCookie'] {
  const { SESSION_COOKIE_SECURE: secure = isHttps, SESSION_COOKIE_SAMESITE: sameSite } = settings
  // Only browsers with a secure connection accept the prefix, and only from this host. Cookies know no ports,
  // and other programs on this host use `session`.
  const name = settings.SESSION_COOKIE_NAME ?? (secure && isHttps ? '__Host-session' : 'berth_session')
  if (sameSite === 'none' && !secure) {
    problems.push(
      'SESSION_COOKIE_SAMESITE: browsers reject SameSite=None without Secure; use an https PUBLIC_URL or set SESSION_COOKIE_SECURE=true',
    )
  }
  const prefix = ['__Host-', '__Secure-'].find((each) => name.startsWith(each))
  if (prefix !== undefined && !secure) {
    problems.push(
      `SESSION_COOKIE_NAME: a name that starts with ${prefix} requires SESSION_COOKIE_SECURE=true`,
    )
  }
  return { name, secure, sameSite }
}
