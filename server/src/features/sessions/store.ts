import { sql } from 'kysely'
import type { Database, DatabaseTransaction } from '../../database/tables.ts'
import type { RoleName } from '../../base/roles.ts'
import type { Standing } from '../../base/standing.ts'
import type { Person } from '../../base/viewer.ts'

export interface NewSession {
  tokenHash: Buffer
  userId: number
  authMethod: string
  address: string | null
  userAgent: string | null
  createdAt: Date
  expiresAt: Date
  endsAt: Date | null
  scriptName: string | null
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
      script_name: session.scriptName,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** True for a session by password without a second factor. An unfinished setup does not count. */
const lacksSecondFactor = sql<boolean>`
  sessions.auth_method = 'password' AND users.allowed_networks IS NULL AND NOT EXISTS (
    SELECT FROM totp_factors WHERE totp_factors.user_id = users.id AND totp_factors.verified_at IS NOT NULL
  ) AND NOT EXISTS (SELECT FROM passkeys WHERE passkeys.user_id = users.id)`

/** A membership of a session's user, as the database has it. */
interface MembershipRow {
  organization_id: number
  organization_name: string
  organization_status: Standing['organizationStatus']
  requires_second_factor: boolean
  allow_external: boolean
  role: RoleName
  team_ids: number[]
  /** As JSON has it */
  calls_blocked_until: string | null
  exhausted_teams: { team_id: number; until: string }[]
}

/** All memberships of a user, with what tells the standing in each. */
export const memberships = sql<MembershipRow[]>`
  coalesce((
    SELECT json_agg(json_build_object('organization_id', organizations.id, 'organization_name', organizations.name,
      'organization_status', organizations.status, 'requires_second_factor', organizations.requires_second_factor,
      'allow_external', organizations.allow_external,
      'role', memberships.role, 'team_ids', (SELECT coalesce(json_agg(team_id ORDER BY team_id), '[]') FROM team_members
        WHERE team_members.organization_id = organizations.id AND team_members.user_id = users.id), 'calls_blocked_until', (SELECT exhausted_until FROM budgets
        WHERE scope = 'member' AND budgets.organization_id = organizations.id AND budgets.user_id = users.id),
      'exhausted_teams', (SELECT coalesce(json_agg(json_build_object('team_id', team_id, 'until', exhausted_until)), '[]')
        FROM team_members JOIN budgets USING (team_id)
        WHERE team_members.organization_id = organizations.id AND team_members.user_id = users.id AND exhausted_until IS NOT NULL)) ORDER BY memberships.id)
    FROM memberships JOIN organizations ON organizations.id = memberships.organization_id
    WHERE memberships.user_id = users.id
  ), '[]')`

/** What tells the standings of a session's user. */
interface PersonRow {
  user_id: number
  current_organization_id: number
  lacks_second_factor: boolean
  memberships: MembershipRow[]
}

/** Sessions with their users and what tells their standings. */
export function selectSessions(db: Database) {
  return db
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.user_id')
    .select(['sessions.id', 'users.id as user_id', 'users.current_organization_id'])
    .select([lacksSecondFactor.as('lacks_second_factor'), memberships.as('memberships')])
}

/** Finds the unexpired session of a token, with its user. */
export function findSession(db: Database, tokenHash: Buffer, now: Date) {
  return selectSessions(db)
    .select([
      'sessions.auth_method',
      'sessions.created_at',
      'sessions.renewed_at',
      'sessions.last_seen_at',
      'sessions.address',
      'sessions.expires_at',
      'sessions.ends_at',
      'users.email',
      'users.name',
      'users.profile_incomplete',
      'users.email_verified_at',
      'users.allowed_networks',
      'users.may_name_members',
      'users.member_header',
      'users.operator_since',
    ])
    .where('sessions.token_hash', '=', tokenHash)
    .where('sessions.expires_at', '>', now)
    .where('users.disabled_at', 'is', null)
    .executeTakeFirst()
}

/** The person of a session, with their standings. */
export function toPerson(row: PersonRow): Person {
  return {
    userId: row.user_id,
    organizationId: row.current_organization_id,
    standings: row.memberships.map(({ calls_blocked_until: blockedUntil, ...membership }) => ({
      organizationId: membership.organization_id,
      organizationName: membership.organization_name,
      organizationStatus: membership.organization_status,
      role: membership.role,
      requiresSecondFactorSetup: membership.requires_second_factor && row.lacks_second_factor,
      forbidsExternal: !membership.allow_external,
      teamIds: membership.team_ids,
      exhaustedTeams: membership.exhausted_teams.map(({ team_id: teamId, until }) => ({
        teamId,
        until: new Date(until),
      })),
      callsBlockedUntil: blockedUntil === null ? null : new Date(blockedUntil),
    })),
  }
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

export async function deleteSession(db: Database, userId: number, tokenHash: Buffer): Promise<void> {
  await db.deleteFrom('sessions').where('token_hash', '=', tokenHash).where('user_id', '=', userId).execute()
}

export type OwnSession = Awaited<ReturnType<typeof listSessions>>[number]

/** A user's unexpired sessions, latest use first. */
export function listSessions(db: Database, userId: number, now: Date) {
  return db
    .selectFrom('sessions')
    .select(['id', 'created_at', 'last_seen_at', 'address', 'user_agent', 'auth_method'])
    .select(['expires_at', 'ends_at', 'script_name'])
    .where('user_id', '=', userId)
    .where('expires_at', '>', now)
    .orderBy('last_seen_at', 'desc')
    .orderBy('id', 'desc')
    .execute()
}

/** Locks a session until the transaction ends; undefined if it has been deleted. */
export function lockSession(transaction: DatabaseTransaction, id: number) {
  return transaction
    .selectFrom('sessions')
    .select(['ends_at', 'script_name'])
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst()
}

/** Counts a user's unexpired sessions for scripts. */
export async function countScriptSessions(db: Database, userId: number, now: Date): Promise<number> {
  const { count } = await db
    .selectFrom('sessions')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .where('script_name', 'is not', null)
    .where('expires_at', '>', now)
    .executeTakeFirstOrThrow()
  return count
}

/** Deletes the sessions that have expired. */
export async function deleteExpiredSessions(db: Database, now: Date): Promise<void> {
  await db.deleteFrom('sessions').where('expires_at', '<=', now).execute()
}
