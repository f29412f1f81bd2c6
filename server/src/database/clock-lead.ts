import { sql } from 'kysely'
import type { Database } from './tables.ts'

/** The allowed lead of this clock: less than the 15 minutes until an hour of usage is sealed. */
const maxLeadMilliseconds = 5 * 60_000

/**
 * The milliseconds of this machine's clock beyond the database's, or null up to five minutes. Work that can't
 * be undone must wait for a correct clock. Ignores the injected clock, which tests set.
 */
export async function findClockLead(db: Database): Promise<number | null> {
  const before = Date.now()
  const { rows } = await sql<{ at: Date }>`SELECT clock_timestamp() AS at`.execute(db)
  const lead = before - rows[0]!.at.getTime()
  return lead > maxLeadMilliseconds ? lead : null
}
