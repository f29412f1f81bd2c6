import { sql } from 'kysely'
import type { Database } from '../../database/tables.ts'
import { RateLimitedError } from '../../errors.ts'

const windowMilliseconds = 15 * 60_000

/** An attempt that counts as failed until it is refunded. */
export interface CountedAttempt {
  key: string
  /** End of the attempt's window in milliseconds since 1970; identifies the window among those of the same key */
  expire: number
}

/**
 * Counts an attempt under a key. The first attempt opens a window of 15 minutes. Throws a `RateLimitedError` once `limit`
 * attempts are counted. Refused attempts do not count.
 */
export async function countSignInAttempt(
  db: Database,
  key: string,
  limit: number,
  now: Date,
): Promise<CountedAttempt> {
  const at = now.getTime()
  const { rows } = await sql<CountedAttempt>`
    INSERT INTO rate_limits AS counter (key, points, expire) VALUES (${key}, 1, ${at + windowMilliseconds})
    ON CONFLICT (key) DO UPDATE SET
      points = CASE WHEN counter.expire <= ${at} THEN 1 ELSE counter.points + 1 END,
      expire = CASE WHEN counter.expire <= ${at} THEN excluded.expire ELSE counter.expire END
    WHERE counter.points < ${limit} OR counter.expire <= ${at}
    RETURNING key, expire
  `.execute(db)
  if (rows[0] !== undefined) return rows[0]
  const full = await sql<CountedAttempt>`SELECT key, expire FROM rate_limits WHERE key = ${key}`.execute(db)
  const secondsLeft = ((full.rows[0]?.expire ?? at) - at) / 1000
  throw new RateLimitedError(secondsLeft, 'Too many failed sign-ins. Try again later.')
}

/** Uncounts a successful attempt. Does nothing if its window has ended or was cleared. */
export async function refundSignInAttempt(db: Database, { key, expire }: CountedAttempt): Promise<void> {
  await sql`
    UPDATE rate_limits SET points = points - 1 WHERE key = ${key} AND expire = ${expire} AND points > 0
  `.execute(db)
}

/** Deletes all attempts counted under a key. */
export async function clearSignInAttempts(db: Database, key: string): Promise<void> {
  await sql`DELETE FROM rate_limits WHERE key = ${key}`.execute(db)
}
