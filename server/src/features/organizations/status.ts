import type { Database, DatabaseTransaction } from '../../database/tables.ts'
import type { Organization } from './store.ts'

export async function findOrganizationStatus(
  db: Database,
  id: number,
): Promise<Organization['status'] | undefined> {
  const row = await db.selectFrom('organizations').select('status').where('id', '=', id).executeTakeFirst()
  return row?.status
}

/** True while the suspension of that moment lasts. */
export async function isSuspendedSince(db: Database, id: number, suspendedAt: Date): Promise<boolean> {
  const row = await db
    .selectFrom('organizations')
    .select('id')
    .where('id', '=', id)
    .where('status', '=', 'suspended')
    .where('suspended_at', '=', suspendedAt)
    .executeTakeFirst()
  return row !== undefined
}

/** Moves an organization from one status to another; false if it has left `from`. */
export async function setOrganizationStatus(
  transaction: DatabaseTransaction,
  id: number,
  { from, to, at }: { from: Organization['status']; to: Organization['status']; at: Date },
): Promise<boolean> {
  const { numUpdatedRows } = await transaction
    .updateTable('organizations')
    .set({ status: to, suspended_at: to === 'suspended' ? at : null, updated_at: at })
    .where('id', '=', id)
    .where('status', '=', from)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
