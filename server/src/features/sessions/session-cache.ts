import { createNotifiedCache } from '../../database/notified-cache.ts'
import type { NotifiedCache } from '../../database/notified-cache.ts'
import type { Notifications } from '../../database/notifications.ts'
import type { Services } from '../../services.ts'
import type { Actor, Viewer } from '../../base/viewer.ts'
import { findViewer } from './find-viewer.ts'
import type { FoundViewer } from './find-viewer.ts'

/** Sessions by their tokens: a digest for each request would cost more than finding its session. */
export type SessionCache = NotifiedCache<Pick<FoundViewer, 'viewer' | 'freshUntil'>>

/** Keeps sessions for at most a minute, so that changes that bypass the triggers take effect soon. */
export function createSessionCache(notifications: Notifications): SessionCache {
  return createNotifiedCache(notifications, 'session_revoked', {
    limit: 20_000,
    milliseconds: 60_000,
    harmless: 'viewer_renamed',
  })
}

/** Finds the viewer of a token in the cache; null when it is not cached or the session is due for renewal. */
export function findCachedViewer(
  { sessions, clock }: Pick<Services, 'clock'> & { sessions: SessionCache },
  token: string,
): Viewer | null {
  const cached = sessions.get(token)
  return cached !== undefined && clock().getTime() < cached.freshUntil ? cached.viewer : null
}

/** Like `findViewer`, but also caches the viewer for `findCachedViewer`. */
export async function findAndCacheViewer(
  deps: Pick<Services, 'db' | 'clock' | 'config'> & { sessions: SessionCache },
  token: string,
  origin: Pick<Actor, 'address' | 'userAgent'>,
): Promise<Pick<FoundViewer, 'viewer' | 'renewed'> | null> {
  let renewed = false
  // A copy, because the token is a slice of a header that would stay in memory.
  const key = Buffer.from(token).toString()
  const found = await deps.sessions.load(key, async () => {
    const read = await findViewer(deps, token, origin)
    renewed = read?.renewed ?? false
    return read === null ? null : { value: read, userId: read.viewer.userId }
  })
  // A value from before a database outage may have expired.
  if (found === null || found.viewer.session.expiresAt <= deps.clock()) return null
  return { viewer: found.viewer, renewed }
}
