import { sql } from 'kysely'
import type { DatabaseTransaction } from '../../database/tables.ts'

/** Locks the names of an organization's models, and the aliases of its deployments, in the transaction. */
export async function holdNames(transaction: DatabaseTransaction, organizationId: number): Promise<void> {
  await sql`SELECT pg_advisory_xact_lock(hashtext('aliases'), ${organizationId}::int)`.execute(transaction)
}
