import { z } from 'zod'
import { SupervisorError } from './errors.ts'
import type { SupervisorAddress } from './settings.ts'
import type { SupervisorResponse, SupervisorRequest } from './http.ts'

/** Berth's sign-in at one supervisor. Tokens are kept only in memory. */
export interface SignIn {
  /**
   * The `Authorization` header to send, or null if the supervisor requires none. `refused` is a header that
   * got a 401. Concurrent callers share one sign-in. Throws SupervisorError if the sign-in fails.
   */
  authorize(refused?: string | null): Promise<string | null>
}

interface Credential {
  header: string | null
  refreshToken: string | null
  /** Milliseconds since the epoch */
  renewAt: number
}

const tokens = z.object({
  access_token: z
    .string()
    .min(1)
    .max(8192)
    .regex(/^[\x21-\x7e]+$/),
  refresh_token: z.string().max(8192).nullish(),
})
const authState = z.object({ auth: z.boolean() })
const claims = z.object({ exp: z.number() })

const minute = 60_000
/** Lifetime of a token without an expiry: the default of Xinference 3 */
const defaultLifetime = 30 * minute
const pauseAfterRefusal = 30_000
const pauseAfterBan = minute

/** Opens no connection itself; `send` sends a request without a sign-in. */
export function createSignIn(
  clusterId: string,
  credentials: SupervisorAddress['credentials'],
  timeoutMs: number,
  send: (request: SupervisorRequest) => Promise<SupervisorResponse>,
): SignIn {
  let credential: Credential | null = null
  let renewing: Promise<Credential> | null = null
  /** Set after a refused sign-in. Xinference bans addresses that retry too soon. */
  let refusal: { until: number; error: SupervisorError } | null = null

  async function renew(): Promise<Credential> {
    const refreshed = credential?.refreshToken == null ? null : await refresh(credential.refreshToken)
    credential = refreshed ?? (await signIn())
    return credential
  }

  async function refresh(refreshToken: string): Promise<Credential | null> {
    const body = { refresh_token: refreshToken }
    const response = await send({ method: 'POST', path: '/v1/auth/refresh', body, timeoutMs })
    return response.status === 200 ? toCredential(response.body) : null
  }

  async function signIn(): Promise<Credential> {
    const authResponse = await send({ method: 'GET', path: '/v1/cluster/auth', timeoutMs })
    const state = authState.safeParse(authResponse.body)
    if (state.success && !state.data.auth) return { header: null, refreshToken: null, renewAt: Infinity }
    if (credentials === null) {
      if (!state.success) return { header: null, refreshToken: null, renewAt: Infinity }
      throw refuse(
        `${clusterId} requires a sign-in. Add user and password to its address in XINFERENCE_URLS, unless another installation of Berth runs it`,
        pauseAfterRefusal,
      )
    }
    const response = await send({ method: 'POST', path: '/token', body: credentials, timeoutMs })
    const signedIn = response.status === 200 ? toCredential(response.body) : null
    if (signedIn !== null) return signedIn
    if (response.status === 429) {
      const pause = Math.max((response.retryAfterSeconds ?? 0) * 1000, pauseAfterBan)
      throw refuse(`${clusterId} has temporarily banned sign-ins from this address`, pause)
    }
    if (response.status < 500)
      throw refuse(`${clusterId} rejected Berth's user name or password`, pauseAfterRefusal)
    throw new SupervisorError(`${clusterId} could not process the sign-in (${response.status})`)
  }

  function refuse(message: string, pause: number): SupervisorError {
    const error = new SupervisorError(message)
    refusal = { until: Date.now() + pause, error }
    return error
  }

  return {
    async authorize(refused) {
      if (credential !== null && credential.header !== refused && Date.now() < credential.renewAt)
        return credential.header
      if (refusal !== null && Date.now() < refusal.until) throw refusal.error
      renewing ??= renew().finally(() => {
        renewing = null
      })
      return (await renewing).header
    },
  }
}

function toCredential(body: unknown): Credential | null {
  const parsed = tokens.safeParse(body)
  if (!parsed.success) return null
  const { access_token, refresh_token } = parsed.data
  const lifetime = (readExpiry(access_token) ?? Date.now() + defaultLifetime) - Date.now()
  return {
    header: `Bearer ${access_token}`,
    refreshToken: refresh_token ?? null,
    // At least 10 s, so that clock skew doesn't renew it on every request. A refused token is renewed anyway.
    renewAt: Date.now() + Math.max(lifetime * 0.8, 10_000),
  }
}

/** Expiry of a JSON Web Token (RFC 7519, `exp`) in milliseconds since the epoch; null for any other token. */
function readExpiry(token: string): number | null {
  try {
    const payload = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()
    return claims.parse(JSON.parse(payload)).exp * 1000
  } catch {
    return null
  }
}
