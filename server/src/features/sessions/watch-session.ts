import type { Services } from '../../services.ts'
import { findLiveSession } from './find-live-session.ts'
import type { Person } from '../../base/viewer.ts'
import { toPerson } from './store.ts'

/** Signals the end of a session, a false `isAllowed`, or a failure of the database, until `left` fires. */
export function watchSession(
  { db, clock, config, notifications }: Pick<Services, 'db' | 'clock' | 'config' | 'notifications'>,
  {
    token,
    userId,
    isAllowed,
  }: { token: string; userId: number; isAllowed: (person: Person) => Promise<boolean> },
  left: AbortSignal,
): AbortSignal {
  const ended = new AbortController()
  if (left.aborted) return ended.signal
  let expiry: NodeJS.Timeout | undefined
  let checking = false
  let changed = false

  /** Checks the session. Notifications that arrive during a check share one more. */
  async function check(): Promise<void> {
    changed = true
    if (checking) return
    checking = true
    while (changed && !done.aborted) {
      changed = false
      await checkOnce()
    }
    checking = false
  }

  async function checkOnce(): Promise<void> {
    const now = clock()
    const session = await findAllowed(now).catch(() => undefined)
    if (session === undefined) return ended.abort()
    if (left.aborted) return
    clearTimeout(expiry)
    // Check again at expiry: another request may have renewed the session by then.
    expiry = setTimeout(() => void check(), session.expires_at.getTime() - now.getTime())
  }

  async function findAllowed(now: Date) {
    const session = await findLiveSession({ db, config }, token, now)
    return session !== undefined && (await isAllowed(toPerson(session))) ? session : undefined
  }

  const done = AbortSignal.any([left, ended.signal])
  function onChange(payload: string): void {
    if (payload === '' || Number(payload) === userId) void check()
  }

  const stops = [
    notifications.subscribe('session_revoked', onChange),
    notifications.subscribe('deployment_changed', onChange),
    notifications.onReconnected(() => void check()),
    () => clearTimeout(expiry),
  ]
  done.addEventListener('abort', () => stops.forEach((stop) => stop()), { once: true })
  // The session may have ended before the subscription began.
  void check()
  return ended.signal
}
