import { sql } from 'kysely'
import type { Database, Tables } from './tables.ts'

const pieceSize = 10_000

/**
 * Deletes the rows of `table` whose `column`, which an index must begin with, is before a moment: however many there are, each
 * statement is short, and what is done stays done.
 */
export async function deleteOlder<Table extends keyof Tables>(
  db: Database,
  table: Table,
  column: keyof Tables[Table] & string,
  before: Date,
): Promise<void> {
  const moment = sql.ref(column)
  let from: Date | '-infinity' = '-infinity'
  for (let deleted = pieceSize; deleted === pieceSize;) {
    // From where the last piece ended: the index keeps what was deleted until it is vacuumed.
    const { rows } = await sql<{ deleted: number; until: Date }>`
      WITH piece AS (
        SELECT ctid, ${moment} AS moment FROM ${sql.table(table)}
        WHERE ${moment} >= ${from} AND ${moment} < ${before} ORDER BY ${moment} LIMIT ${pieceSize}
      ), gone AS (
        DELETE FROM ${sql.table(table)} WHERE ctid = ANY (ARRAY (SELECT ctid FROM piece))
      )
      SELECT count(*) AS deleted, max(moment) AS until FROM piece`.execute(db)
    deleted = rows[0]!.deleted
    from = rows[0]!.until
  }
}
