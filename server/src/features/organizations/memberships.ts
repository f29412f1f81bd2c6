import { sql } from 'kysely'
import type { Database, DatabaseTransaction } from '../../database/tables.ts'
import { rolesBelow } from '../../roles.ts'
import type { RoleName } from '../../roles.ts'

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
export async function isShared(db: Database, organizationId: number): Promise<boolean> {
  const { rows } = await sql<{ shared: boolean }>`
    SELECT (SELECT count(*) FROM memberships WHERE organization_id = ${organizationId}) > 1
      OR EXISTS (SELECT FROM invitations WHERE organization_id = ${organizationId} AND status = 'pending') AS shared
  `.execute(db)
  return rows[0]!.shared
}
