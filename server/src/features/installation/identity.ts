import { sql } from 'kysely'
import type { Database, DatabaseTransaction } from '../../database/tables.ts'

/**
 * True for a database that was restored beside or in place of the one in which the installation ran, so that
 * the original may still run. The first call in a new database records which one it is.
 */
export async function isCopy(db: Database): Promise<boolean> {
  const identity = await readIdentity(db)
  const recorded = await findRecorded(db)
  if (recorded !== undefined) return recorded !== identity
  await db
    .insertInto('database_identities')
    .values({ identity })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  return (await findRecorded(db)) !== identity
}

/** Makes this database the one of the installation. */
export async function recordIdentity(transaction: DatabaseTransaction): Promise<void> {
  await transaction
    .updateTable('database_identities')
    .set({ identity: await readIdentity(transaction) })
    .execute()
}

async function findRecorded(db: Database): Promise<string | undefined> {
  const row = await db.selectFrom('database_identities').select('identity').executeTakeFirst()
  return row?.identity
}

async function readIdentity(db: Database): Promise<string> {
  const { rows } = await sql<{ identity: string }>`
    SELECT concat_ws('/', (SELECT system_identifier FROM pg_control_system()), oid) AS identity
    FROM pg_database WHERE datname = current_database()`.execute(db)
  return rows[0]!.identity
}
