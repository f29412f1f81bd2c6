import { sql } from 'kysely'
import type { Database, Tables } from './tables.ts'

const batchSize = 10_000

/** Deletes rows with a `column` before `before` in short statements. An index must start with `column`. */
export async function deleteOlder<Table extends keyof Tables>(
  db: Database,
  table: Table,
  column: keyof Tables[Table] & string,
  before: Date,
): Promise<void> {
  const moment = sql.ref(column)
  let from: Date | '-infinity' = '-infinity'
  for (let deleted = batchSize; deleted === batchSize;) {
    // Continue where the last batch ended: until a vacuum, the index still contains the deleted rows.
    const { rows } = await sql<{ deleted: number; until: Date }>`
      WITH batch AS (
        SELECT ctid, ${moment} AS moment FROM ${sql.table(table)}
        WHERE ${moment} >= ${from} AND ${moment} < ${before} ORDER BY ${moment} LIMIT ${batchSize}
      ), deleted AS (
        DELETE FROM ${sql.table(table)} WHERE ctid = ANY (ARRAY (SELECT ctid FROM batch))
      )
      SELECT count(*) AS deleted, max(moment) AS until FROM batch`.execute(db)
    deleted = rows[0]!.deleted
    from = rows[0]!.until
  }
}
