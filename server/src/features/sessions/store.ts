import { sql } from 'kysely'
import type { Database } from '../../database/tables.ts'
import type { Actor } from '../../base/viewer.ts'

export interface NewSession {
  tokenHash: Buffer
  userId: number
  authMethod: string
  address: string | null
  userAgent: string | null
  createdAt: Date
  expiresAt: Date
  endsAt: Date | null
}

/** Inserts a session and returns its id. */
export async function insertSession(db: Database, session: NewSession): Promise<number> {
  const { id } = await db
    .insertInto('sessions')
    .values({
      token_hash: session.tokenHash,
      user_id: session.userId,
      auth_method: session.authMethod,
      address: session.address,
      user_agent: session.userAgent,
      last_seen_at: session.createdAt,
      created_at: session.createdAt,
      renewed_at: session.createdAt,
      expires_at: session.expiresAt,
      ends_at: session.endsAt,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** True for a session by password of a user without a second factor. A set-up that is unfinished does not count. */
const lacksSecondFactor = sql<boolean>`
  sessions.auth_method = 'password' AND NOT EXISTS (
    SELECT FROM totp_factors WHERE totp_factors.user_id = users.id AND totp_factors.confirmed_at IS NOT NULL
  ) AND NOT EXISTS (SELECT FROM passkeys WHERE passkeys.user_id = users.id)`

/** Finds the unexpired session of a token, with its user and their current organization. */
export function findSession(db: Database, tokenHash: Buffer, now: Date) {
  return db
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.user_id')
    .innerJoin('organizations', 'organizations.id', 'users.current_organization_id')
    .innerJoin('memberships', (join) =>
      join
        .onRef('memberships.user_id', '=', 'users.id')
        .onRef('memberships.organization_id', '=', 'organizations.id'),
    )
    .select([
      'sessions.id',
      'sessions.auth_method',
      'sessions.created_at',
      'sessions.renewed_at',
      'sessions.last_seen_at',
      'sessions.expires_at',
      'sessions.ends_at',
      'users.id as user_id',
      'users.email',
      'users.name',
      'users.profile_incomplete',
      'users.email_verified_at',
      'organizations.id as organization_id',
      'organizations.name as organization_name',
      'organizations.status as organization_status',
      'organizations.requires_second_factor',
      'memberships.role',
    ])
    .select(lacksSecondFactor.as('lacks_second_factor'))
    .where('sessions.token_hash', '=', tokenHash)
    .where('sessions.expires_at', '>', now)
    .where('users.disabled_at', 'is', null)
    .executeTakeFirst()
}

/** Whether the current organization of a session requires a second factor that the session's user lacks. */
export function lacksRequiredFactor(session: {
  requires_second_factor: boolean
  lacks_second_factor: boolean
}): boolean {
  return session.requires_second_factor && session.lacks_second_factor
}

/** Extends a session; false when another request renewed it first. */
export async function renewSession(
  db: Database,
  id: number,
  renewedBefore: Date,
  now: Date,
  expiresAt: Date,
): Promise<boolean> {
  const result = await db
    .updateTable('sessions')
    .set({ renewed_at: now, expires_at: expiresAt })
    .where('id', '=', id)
    .where('renewed_at', '=', renewedBefore)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

export async function deleteSession(db: Database, tokenHash: Buffer): Promise<void> {
  await db.deleteFrom('sessions').where('token_hash', '=', tokenHash).execute()
}

export type OwnSession = Awaited<ReturnType<typeof listSessions>>[number]

/** A user's unexpired sessions, latest use first. */
export function listSessions(db: Database, userId: number, now: Date) {
  return db
    .selectFrom('sessions')
    .select(['id', 'created_at', 'last_seen_at', 'address', 'user_agent', 'auth_method'])
    .where('user_id', '=', userId)
    .where('expires_at', '>', now)
    .orderBy('last_seen_at', 'desc')
    .orderBy('id', 'desc')
    .execute()
}

/** Notes where a session was last used. */
export async function touchSession(
  db: Database,
  id: number,
  { address, userAgent }: Pick<Actor, 'address' | 'userAgent'>,
  now: Date,
): Promise<void> {
  await db
    .updateTable('sessions')
    .set({ last_seen_at: now, address, user_agent: userAgent })
    .where('id', '=', id)
    .execute()
}

/** Deletes the sessions that have expired. */
export async function deleteExpiredSessions(db: Database, now: Date): Promise<void> {
  await db.deleteFrom('sessions').where('expires_at', '<=', now).execute()
}
