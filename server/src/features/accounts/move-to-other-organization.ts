import type { DatabaseTransaction } from '../../database/tables.ts'
import { createOrganization, nameOrganizationOf } from '../organizations/create-organization.ts'
import { addMember, listOrganizationIds } from '../organizations/memberships.ts'
import { switchOrganization } from './switch-organization.ts'

/** Moves a user out of an organization that they left: accounts need one. Returns the id of a new one. */
export async function moveToOtherOrganization(
  transaction: DatabaseTransaction,
  user: { userId: number; name: string },
  at: Date,
): Promise<number | null> {
  const { userId, name } = user
  const own = await listOrganizationIds(transaction, userId)
  const { current_organization_id: current } = await transaction
    .selectFrom('users')
    .select('current_organization_id')
    .where('id', '=', userId)
    .executeTakeFirstOrThrow()
  if (own.includes(current)) return null
  const [next] = own
  if (next !== undefined) {
    await switchOrganization(transaction, { userId, organizationId: next, at })
    return null
  }
  const organizationId = await createOrganization(transaction, nameOrganizationOf(name))
  await addMember(transaction, { userId, organizationId, role: 'super_admin' })
  await switchOrganization(transaction, { userId, organizationId, at })
  return organizationId
}
