import { sql } from 'kysely'
import type { Database } from './tables.ts'

/**
 * The allowed lead of this machine's clock; it must be shorter than the 15 minutes before an hour of usage is
 * sealed.
 */
const maxLeadMilliseconds = 5 * 60_000

/**
 * The milliseconds by which this machine's clock is ahead of the database's, or null when it is at most five
 * minutes ahead. Work that can't be undone must wait for a correct clock. Ignores the injected clock, which
 * tests set.
 */
export async function findClockLead(db: Database): Promise<number | null> {
  const before = Date.now()
  const { rows } = await sql<{ at: Date }>`SELECT clock_timestamp() AS at`.execute(db)
  const lead = before - rows[0]!.at.getTime()
  return lead > maxLeadMilliseconds ? lead : null
}
