import { sql } from 'kysely'
import type { Database, DatabaseTransaction } from '../../database/tables.ts'
import { deleteExpiredChallenges } from './factors/passkey-store.ts'
import { deletePendingTotps, deleteSecondFactors, lacksSecondFactor } from './factors/store.ts'

export interface NewUser {
  /** The current organization; the caller adds the membership */
  organizationId: number
  email: string
  /** Null until the user proves to own the email */
  emailVerifiedAt: Date | null
  passwordHash: string | null
  name: string
  firstName: string | null
  lastName: string | null
  country: string | null
  contactNumber: string | null
  /** True while an SSO account has yet to choose its name and organization. Default: false */
  profileIncomplete?: boolean | undefined
}

export async function insertUser(db: Database, user: NewUser): Promise<number> {
  const { id } = await db
    .insertInto('users')
    .values({
      email: user.email,
      email_verified_at: user.emailVerifiedAt,
      password_hash: user.passwordHash,
      name: user.name,
      first_name: user.firstName,
      last_name: user.lastName,
      country: user.country,
      contact_number: user.contactNumber,
      current_organization_id: user.organizationId,
      profile_incomplete: user.profileIncomplete ?? false,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** Lowercases an email as the unique index does. Only the database decides which emails are equal. */
export async function foldEmail(db: Database, email: string): Promise<string> {
  const { rows } = await sql<{ folded: string }>`SELECT lower(${email}) AS folded`.execute(db)
  return rows[0]!.folded
}

export function findUserByEmail(db: Database, email: string) {
  return db
    .selectFrom('users')
    .select(['id', 'email', 'password_hash', 'current_organization_id', 'disabled_at'])
    .where(sql`lower(email)`, '=', sql<string>`lower(${email})`)
    .executeTakeFirst()
}

/** Finds an account by email and locks it until the transaction ends. */
export function lockUserByEmail(transaction: DatabaseTransaction, email: string) {
  return transaction
    .selectFrom('users')
    .select(['id', 'email', 'email_verified_at', 'current_organization_id'])
    .where(sql`lower(email)`, '=', sql<string>`lower(${email})`)
    .forUpdate()
    .executeTakeFirst()
}

export interface Profile {
  email: string
  name: string
  firstName: string | null
  lastName: string | null
  country: string | null
  contactNumber: string | null
  currentOrganizationId: number
  profileIncomplete: boolean
}

/** Reads a user's profile and locks it until the transaction ends. */
export function lockProfile(transaction: DatabaseTransaction, userId: number): Promise<Profile> {
  return transaction
    .selectFrom('users')
    .select([
      'email',
      'name',
      'first_name as firstName',
      'last_name as lastName',
      'country',
      'contact_number as contactNumber',
      'current_organization_id as currentOrganizationId',
      'profile_incomplete as profileIncomplete',
    ])
    .where('id', '=', userId)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow()
}

export function getUser(db: Database, userId: number) {
  return db
    .selectFrom('users')
    .select(['email', 'name', 'first_name', 'last_name', 'country', 'contact_number', 'created_at'])
    .select(sql<boolean>`password_hash IS NOT NULL`.as('has_password'))
    .where('id', '=', userId)
    .executeTakeFirstOrThrow()
}

export async function saveProfile(
  transaction: DatabaseTransaction,
  userId: number,
  profile: Omit<Profile, 'email'>,
  at: Date,
): Promise<void> {
  await transaction
    .updateTable('users')
    .set({
      name: profile.name,
      first_name: profile.firstName,
      last_name: profile.lastName,
      country: profile.country,
      contact_number: profile.contactNumber,
      current_organization_id: profile.currentOrganizationId,
      profile_incomplete: profile.profileIncomplete,
      updated_at: at,
    })
    .where('id', '=', userId)
    .execute()
}

export async function findPasswordHash(db: Database, userId: number): Promise<string | null> {
  const user = await db
    .selectFrom('users')
    .select('password_hash')
    .where('id', '=', userId)
    .executeTakeFirst()
  return user?.password_hash ?? null
}

/** Replaces a password if its hash is still `before`; false if it has changed. */
export async function replacePassword(
  db: Database,
  userId: number,
  { before, after, at }: { before: string; after: string; at: Date },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('users')
    .set({ password_hash: after, updated_at: at })
    .where('id', '=', userId)
    .where('password_hash', '=', before)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Deletes a user's password, second factors and sessions. */
export async function deleteCredentials(
  transaction: DatabaseTransaction,
  userId: number,
  at: Date,
): Promise<void> {
  await transaction
    .updateTable('users')
    .set({ password_hash: null, updated_at: at })
    .where('id', '=', userId)
    .execute()
  await deleteSecondFactors(transaction, userId)
  await transaction.deleteFrom('sessions').where('user_id', '=', userId).execute()
}

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

/** Locks a user until the transaction ends if their password hash is still this one; false if it has changed. */
export async function lockUserWithPassword(
  transaction: DatabaseTransaction,
  userId: number,
  passwordHash: string,
): Promise<boolean> {
  const user = await transaction
    .selectFrom('users')
    .select('id')
    .where('id', '=', userId)
    .where('password_hash', '=', passwordHash)
    .forShare()
    .executeTakeFirst()
  return user !== undefined
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

/** Deletes expired sessions and rate limit counters, and password resets and unfinished second factors older than a day. */
export async function deleteExpired(db: Database, now: Date): Promise<void> {
  await db.deleteFrom('sessions').where('expires_at', '<=', now).execute()
  const yesterday = new Date(now.getTime() - 24 * 3_600_000)
  await db.deleteFrom('password_resets').where('created_at', '<', yesterday).execute()
  await deletePendingTotps(db, yesterday)
  await deleteExpiredChallenges(db, now)
  await sql`DELETE FROM rate_limits WHERE expire IS NOT NULL AND expire < ${now.getTime()}`.execute(db)
}
