import type { DatabaseTransaction } from '../../database/tables.ts'
import type { Actor } from '../../base/viewer.ts'
import { recordAction } from '../audit/record-action.ts'

/** Closes an organization for good. */
export async function closeOrganization(
  transaction: DatabaseTransaction,
  actor: Actor,
  organizationId: number,
  at: Date,
): Promise<void> {
  const { name } = await transaction
    .updateTable('organizations')
    .set({ status: 'closed', updated_at: at })
    .where('id', '=', organizationId)
    .returning('name')
    .executeTakeFirstOrThrow()
  const target = { type: 'organization', id: organizationId, name } as const
  await recordAction(transaction, actor, 'organization.closed', { organizationId, target })
}
