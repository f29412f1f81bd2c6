import type { Services } from '../../services.ts'
import { hashToken } from './link-token.ts'
import { findSession } from './store.ts'

/**
 * Watches the session of a token, a user's, until `left` fires; the signal that it returns fires when the session is over,
 * revoked or too old, and where the database can't say.
 */
export function watchSession(
  { db, clock, notifications }: Pick<Services, 'db' | 'clock' | 'notifications'>,
  { token, userId }: { token: string; userId: number },
  left: AbortSignal,
): AbortSignal {
  const over = new AbortController()
  if (left.aborted) return over.signal
  let expiry: NodeJS.Timeout | undefined

  async function check(): Promise<void> {
    const now = clock()
    const session = await findSession(db, hashToken(token), now).catch(() => undefined)
    if (session === undefined) return over.abort()
    if (left.aborted) return
    clearTimeout(expiry)
    // By then another request may have renewed it.
    expiry = setTimeout(() => void check(), session.expires_at.getTime() - now.getTime())
  }

  const stops = [
    notifications.subscribe('session_revoked', (payload) => {
      if (payload === '' || Number(payload) === userId) void check()
    }),
    notifications.onReconnected(() => void check()),
    () => clearTimeout(expiry),
  ]
  const done = AbortSignal.any([left, over.signal])
  done.addEventListener('abort', () => stops.forEach((stop) => stop()), { once: true })
  // It may have ended between the look at the request and the subscription.
  void check()
  return over.signal
}
