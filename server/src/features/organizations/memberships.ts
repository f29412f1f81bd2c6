import { sql } from 'kysely'
import type { Database, DatabaseTransaction } from '../../database/tables.ts'
import { ApplicationError } from '../../base/errors.ts'
import { rolesBelow } from '../../base/roles.ts'
import type { RoleName } from '../../base/roles.ts'

/** Adds a user to an organization. A user who is already a member keeps the higher of the two roles. */
export async function addMember(
  transaction: DatabaseTransaction,
  { userId, organizationId, role }: { userId: number; organizationId: number; role: RoleName },
): Promise<void> {
  await transaction
    .insertInto('memberships')
    .values({ user_id: userId, organization_id: organizationId, role })
    .onConflict((conflict) =>
      conflict
        .columns(['user_id', 'organization_id'])
        .doUpdateSet({ role })
        .where(sql<boolean>`memberships.role = ANY(${rolesBelow(role)})`),
    )
    .execute()
}

export async function isMember(db: Database, userId: number, organizationId: number): Promise<boolean> {
  const membership = await db
    .selectFrom('memberships')
    .select('id')
    .where('user_id', '=', userId)
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
  return membership !== undefined
}

/** Those of the users who are members. Keeps their memberships until the transaction ends. */
export async function listMemberIds(
  transaction: DatabaseTransaction,
  organizationId: number,
  userIds: readonly number[],
): Promise<number[]> {
  if (userIds.length === 0) return []
  const rows = await transaction
    .selectFrom('memberships')
    .select('user_id')
    .where('organization_id', '=', organizationId)
    .where('user_id', 'in', userIds)
    .orderBy('user_id')
    .forKeyShare()
    .execute()
  return rows.map(({ user_id: userId }) => userId)
}

/** Whether a member of the organization has this email, ignoring case. */
export async function isMemberEmail(db: Database, organizationId: number, email: string): Promise<boolean> {
  const membership = await db
    .selectFrom('memberships')
    .innerJoin('users', 'users.id', 'memberships.user_id')
    .select('memberships.id')
    .where('memberships.organization_id', '=', organizationId)
    .where(sql`lower(users.email)`, '=', sql<string>`lower(${email})`)
    .executeTakeFirst()
  return membership !== undefined
}

/** Whether an organization has several members, or invitations that can still be accepted. */
export async function isOrganizationShared(db: Database, organizationId: number): Promise<boolean> {
  const { rows } = await sql<{ shared: boolean }>`
    SELECT (SELECT count(*) FROM memberships WHERE organization_id = ${organizationId}) > 1
      OR EXISTS (SELECT FROM invitations WHERE organization_id = ${organizationId} AND status = 'pending') AS shared
  `.execute(db)
  return rows[0]!.shared
}

export interface Membership {
  id: number
  userId: number
  organizationId: number
  role: RoleName
  email: string
  name: string
  /** True for a service member */
  isService: boolean
}

/** Finds a membership of an organization by its id or its user. */
export function findMembership(
  db: Database,
  organizationId: number,
  key: { id: number } | { userId: number },
): Promise<Membership | undefined> {
  return db
    .selectFrom('memberships')
    .innerJoin('users', 'users.id', 'memberships.user_id')
    .select([
      'memberships.id',
      'memberships.user_id as userId',
      'memberships.organization_id as organizationId',
      'memberships.role',
      'users.email',
      'users.name',
    ])
    .select(sql<boolean>`users.allowed_networks IS NOT NULL`.as('isService'))
    .where('memberships.organization_id', '=', organizationId)
    .where((where) =>
      'id' in key ? where('memberships.id', '=', key.id) : where('memberships.user_id', '=', key.userId),
    )
    .executeTakeFirst()
}

/** Locks an organization's memberships against changes of roles by other transactions until this one ends. */
export async function lockMemberships(
  transaction: DatabaseTransaction,
  organizationId: number,
): Promise<void> {
  await transaction
    .selectFrom('organizations')
    .select('id')
    .where('id', '=', organizationId)
    .forNoKeyUpdate()
    .execute()
}

/** Throws `last_super_admin` if the organization would be left without one. Lock the memberships first. */
export async function assertOtherSuperAdmin(
  transaction: DatabaseTransaction,
  member: Membership,
): Promise<void> {
  if (member.role !== 'super_admin' || (await hasOtherSuperAdmin(transaction, member))) return
  const message = 'The organization needs an owner. Make another member an owner first.'
  throw new ApplicationError('last_super_admin', message)
}

/** Whether the organization has a super_admin besides this member. */
export async function hasOtherSuperAdmin(
  transaction: DatabaseTransaction,
  { id, organizationId }: Membership,
): Promise<boolean> {
  const other = await transaction
    .selectFrom('memberships')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('role', '=', 'super_admin')
    .where('id', '<>', id)
    .executeTakeFirst()
  return other !== undefined
}

export async function setMemberRole(
  transaction: DatabaseTransaction,
  id: number,
  role: RoleName,
): Promise<void> {
  await transaction.updateTable('memberships').set({ role }).where('id', '=', id).execute()
}

export async function deleteMembership(transaction: DatabaseTransaction, id: number): Promise<void> {
  await transaction.deleteFrom('memberships').where('id', '=', id).execute()
}

/** The organizations that a user is a member of, earliest first. */
export async function listOrganizationIds(db: Database, userId: number): Promise<number[]> {
  const rows = await db
    .selectFrom('memberships')
    .select('organization_id')
    .where('user_id', '=', userId)
    .orderBy('id')
    .execute()
  return rows.map(({ organization_id }) => organization_id)
}

/** Keeps a membership until the transaction ends. Throws `not_authenticated` if it has ended already. */
export async function holdMembership(transaction: DatabaseTransaction, member: Member): Promise<void> {
  const membership = await selectOwn(transaction, member).forKeyShare().executeTakeFirst()
  if (membership === undefined) throw accessEnded()
}

/** Like `holdMembership`, but also keeps its role from changing, and returns the role. */
export async function holdRole(transaction: DatabaseTransaction, member: Member): Promise<RoleName> {
  const membership = await selectOwn(transaction, member).forShare().executeTakeFirst()
  if (membership === undefined) throw accessEnded()
  return membership.role
}

type Member = Pick<Membership, 'userId' | 'organizationId'>

function selectOwn(transaction: DatabaseTransaction, { userId, organizationId }: Member) {
  return transaction
    .selectFrom('memberships')
    .select('role')
    .where('user_id', '=', userId)
    .where('organization_id', '=', organizationId)
}

function accessEnded(): ApplicationError {
  return new ApplicationError('not_authenticated', 'Your access has ended. Sign in again.')
}

/** The emails of an organization's admins and super_admins. */
export async function listAdminEmails(db: Database, organizationId: number): Promise<string[]> {
  const admins = await db
    .selectFrom('memberships')
    .innerJoin('users', 'users.id', 'memberships.user_id')
    .select('users.email')
    .where('memberships.organization_id', '=', organizationId)
    .where('memberships.role', 'in', ['admin', 'super_admin'])
    .orderBy('memberships.id')
    .execute()
  return admins.map(({ email }) => email)
}

/** Whether no other person is in the organization. Service members don't count. */
export async function isOnlyPerson(db: Database, { id, organizationId }: Membership): Promise<boolean> {
  const other = await db
    .selectFrom('memberships')
    .innerJoin('users', 'users.id', 'memberships.user_id')
    .select('memberships.id')
    .where('memberships.organization_id', '=', organizationId)
    .where('memberships.id', '<>', id)
    .where('users.allowed_networks', 'is', null)
    .executeTakeFirst()
  return other === undefined
}
