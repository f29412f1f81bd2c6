import { sql } from 'kysely'
import type { DatabaseTransaction } from '../../database/tables.ts'
import { rolesBelow } from '../../roles.ts'
import type { RoleName } from '../../roles.ts'

/**
 * Makes a user a member of an organization, which becomes their current one. Who is a member already keeps the higher
 * of the two roles.
 */
export async function joinOrganization(
  transaction: DatabaseTransaction,
  membership: { userId: number; organizationId: number; role: RoleName; at: Date },
): Promise<void> {
  const { userId, organizationId, role, at } = membership
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
  await transaction
    .updateTable('users')
    .set({ current_organization_id: organizationId, updated_at: at })
    .where('id', '=', userId)
    .execute()
}

/** True when a member of the organization has this e-mail address, in any case. */
export async function isMemberAddress(
  transaction: DatabaseTransaction,
  organizationId: number,
  email: string,
): Promise<boolean> {
  const found = await transaction
    .selectFrom('memberships')
    .innerJoin('users', 'users.id', 'memberships.user_id')
    .select('memberships.id')
    .where('memberships.organization_id', '=', organizationId)
    .where(sql`lower(users.email)`, '=', sql<string>`lower(${email})`)
    .executeTakeFirst()
  return found !== undefined
}
