import { z } from 'zod'
import { SupervisorFault } from './faults.ts'
import type { Answer, Ask } from './http.ts'
import type { XinferenceSettings } from './settings.ts'

/** Berth's sign-in on one supervisor, kept in memory alone. */
export interface Session {
  /**
   * The `Authorization` header to send, null where the supervisor asks for none; `refused` is the one that it answered 401
   * to. Callers share one sign-in. Throws a SupervisorFault when there is none to be had.
   */
  authorize(refused?: string | null): Promise<string | null>
}

interface Ticket {
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
/** A token's life where it doesn't say: that of Xinference 3. */
const usualLife = 30 * minute
const pauseAfterRefusal = 30_000
const pauseAfterBan = minute

/** Opens no connection by itself. `ask` sends without a sign-in. */
export function createSession(
  host: string,
  credentials: XinferenceSettings['credentials'],
  timeoutMs: number,
  ask: (ask: Ask) => Promise<Answer>,
): Session {
  let ticket: Ticket | null = null
  let renewing: Promise<Ticket> | null = null
  /** After a refused sign-in: until when none is tried, because Xinference bans addresses that guess. */
  let refusal: { until: number; fault: SupervisorFault } | null = null

  async function renew(): Promise<Ticket> {
    const refreshed = ticket?.refreshToken == null ? null : await refresh(ticket.refreshToken)
    ticket = refreshed ?? (await signIn())
    return ticket
  }

  async function refresh(refreshToken: string): Promise<Ticket | null> {
    const body = { refresh_token: refreshToken }
    const answer = await ask({ method: 'POST', path: '/v1/auth/refresh', body, timeoutMs })
    return answer.status === 200 ? toTicket(answer.body) : null
  }

  async function signIn(): Promise<Ticket> {
    const asked = await ask({ method: 'GET', path: '/v1/cluster/auth', timeoutMs })
    const state = authState.safeParse(asked.body)
    if (state.success && !state.data.auth) return { header: null, refreshToken: null, renewAt: Infinity }
    if (credentials === null) {
      if (!state.success) return { header: null, refreshToken: null, renewAt: Infinity }
      throw refuse(`${host} asks for a sign-in, and Berth was given no user for it`, pauseAfterRefusal)
    }
    const answer = await ask({ method: 'POST', path: '/token', body: credentials, timeoutMs })
    const made = answer.status === 200 ? toTicket(answer.body) : null
    if (made !== null) return made
    if (answer.status === 429) {
      const pause = Math.max((answer.retryAfterSeconds ?? 0) * 1000, pauseAfterBan)
      throw refuse(`${host} lets nobody sign in from here for a while`, pause)
    }
    if (answer.status < 500) throw refuse(`${host} did not accept Berth's user`, pauseAfterRefusal)
    throw new SupervisorFault(`${host} failed at the sign-in (${answer.status})`)
  }

  function refuse(message: string, pause: number): SupervisorFault {
    const fault = new SupervisorFault(message)
    refusal = { until: Date.now() + pause, fault }
    return fault
  }

  return {
    async authorize(refused) {
      if (ticket !== null && ticket.header !== refused && Date.now() < ticket.renewAt) return ticket.header
      if (refusal !== null && Date.now() < refusal.until) throw refusal.fault
      renewing ??= renew().finally(() => {
        renewing = null
      })
      return (await renewing).header
    },
  }
}

function toTicket(body: unknown): Ticket | null {
  const parsed = tokens.safeParse(body)
  if (!parsed.success) return null
  const { access_token, refresh_token } = parsed.data
  const life = (readExpiry(access_token) ?? Date.now() + usualLife) - Date.now()
  return {
    header: `Bearer ${access_token}`,
    refreshToken: refresh_token ?? null,
    // A clock that is off must not make every request renew the token: a refused one is renewed anyway.
    renewAt: Date.now() + Math.max(life * 0.8, 10_000),
  }
}

/** When a JSON Web Token ends (RFC 7519, `exp`), in milliseconds; null for any other token. */
function readExpiry(token: string): number | null {
  try {
    const payload = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()
    return claims.parse(JSON.parse(payload)).exp * 1000
  } catch {
    return null
  }
}
