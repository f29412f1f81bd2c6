import { hash, randomBytes } from 'node:crypto'
import { createNotifiedCache } from '../../database/notified-cache.ts'
import type { NotifiedCache } from '../../database/notified-cache.ts'
import type { Notifications } from '../../database/notifications.ts'
import type { Services } from '../../services.ts'
import type { Viewer } from '../../viewer.ts'
import { hashToken } from './link-token.ts'
import { invalidCredentials } from './sign-in.ts'
import { deleteSession, findSession, lockUserWithPassword, insertSession, renewSession } from './store.ts'

const hour = 3_600_000
const day = 24 * hour
const lifetime = 7 * day
const longestLife = 30 * day

export interface StartedSession {
  /** 256 random bits for the cookie; only its SHA-256 is stored */
  token: string
  expiresAt: Date
}

/** Who a token stands for. */
export interface FoundViewer {
  viewer: Viewer
  /** The session was renewed now: its cookie must be sent again */
  renewed: boolean
  /** Until then (milliseconds since 1970) the session neither ends nor is due to be renewed */
  goodUntil: number
}

/**
 * Starts a session for a user and ends the one whose token came with the request, so that no token is ever carried over. With
 * the hash of the password that was checked, it throws `invalid_credentials` when the password was replaced meanwhile.
 */
export async function startSession(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  session: {
    userId: number
    authMethod: string
    replaces: string | null
    passwordHash?: string | undefined
  },
): Promise<StartedSession> {
  const token = randomBytes(32).toString('base64url')
  const createdAt = clock()
  const expiresAt = new Date(createdAt.getTime() + lifetime)
  const { userId, authMethod, replaces, passwordHash } = session
  await db.transaction().execute(async (transaction) => {
    if (passwordHash !== undefined && !(await lockUserWithPassword(transaction, userId, passwordHash))) {
      throw invalidCredentials()
    }
    if (replaces !== null) await deleteSession(transaction, hashToken(replaces))
    await insertSession(transaction, {
      tokenHash: hashToken(token),
      userId,
      authMethod,
      createdAt,
      expiresAt,
    })
  })
  return { token, expiresAt }
}

/**
 * The viewer that a token stands for, or null. A session that is used lives on for another 7 days, up to 30 in all;
 * `renewed` tells that its cookie must be sent again.
 */
export async function findViewer(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  token: string,
): Promise<FoundViewer | null> {
  const now = clock()
  const row = await findSession(db, hashToken(token), now)
  if (row === undefined) return null
  const expiresAt = new Date(Math.min(now.getTime() + lifetime, row.created_at.getTime() + longestLife))
  const renewed =
    now.getTime() - row.renewed_at.getTime() >= hour &&
    expiresAt > row.expires_at &&
    (await renewSession(db, row.id, row.renewed_at, now, expiresAt))
  const viewer: Viewer = {
    userId: row.user_id,
    email: row.email,
    name: row.name,
    organizationId: row.organization_id,
    organizationName: row.organization_name,
    role: row.role,
    requiresProfileCompletion: row.profile_incomplete,
    session: { id: row.id, expiresAt: renewed ? expiresAt : row.expires_at, authMethod: row.auth_method },
  }
  const renewedAt = renewed ? now : row.renewed_at
  const renewable = row.created_at.getTime() + longestLife > viewer.session.expiresAt.getTime()
  const nextRenewal = renewable ? renewedAt.getTime() + hour : Infinity
  return { viewer, renewed, goodUntil: Math.min(viewer.session.expiresAt.getTime(), nextRenewal) }
}

/** Sessions in memory, by the SHA-256 of their tokens. */
export type SessionCache = NotifiedCache<Pick<FoundViewer, 'viewer' | 'goodUntil'>>

/** For a minute at most, so that even a row changed past the triggers counts soon. */
export function createSessionCache(notifications: Notifications): SessionCache {
  return createNotifiedCache(notifications, 'session_revoked', { limit: 20_000, milliseconds: 60_000 })
}

/** The viewer that memory has for a token; null where it has none or the session is due to be renewed. */
export function recallViewer(
  { sessions, clock }: Pick<Services, 'clock'> & { sessions: SessionCache },
  token: string,
): Viewer | null {
  const kept = sessions.get(toKey(token))
  return kept !== undefined && clock().getTime() < kept.goodUntil ? kept.viewer : null
}

/** As `findViewer`, and remembers what it finds for `recallViewer`. */
export async function findAndRememberViewer(
  application: Pick<Services, 'db' | 'clock'> & { sessions: SessionCache },
  token: string,
): Promise<Pick<FoundViewer, 'viewer' | 'renewed'> | null> {
  const key = toKey(token)
  let renewed = false
  // What is kept may be due for renewal: then the row decides.
  application.sessions.forget(key)
  const found = await application.sessions.find(key, async () => {
    const read = await findViewer(application, token)
    renewed = read?.renewed ?? false
    return read === null ? null : { value: read, userId: read.viewer.userId }
  })
  return found === null ? null : { viewer: found.viewer, renewed }
}

function toKey(token: string): string {
  return hash('sha256', token, 'base64url')
}

/** Ends the session of a token; the token is worthless at once. */
export async function endSession({ db }: Pick<Services, 'db'>, token: string): Promise<void> {
  await deleteSession(db, hashToken(token))
}
