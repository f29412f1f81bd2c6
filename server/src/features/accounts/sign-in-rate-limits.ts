import { sql } from 'kysely'
import type { Database } from '../../database/tables.ts'
import { RateLimitedError } from '../../errors.ts'

const windowMilliseconds = 15 * 60_000

/** A try that counts as failed until it is taken back. */
export interface CountedAttempt {
  key: string
  /** When its window ends (milliseconds since 1970), which tells one window of a key from the next */
  expire: number
}

/**
 * Counts a try under a key, in a window of 15 minutes that the first one opens. Throws a `RateLimitedError` when `most` are
 * counted already; what is refused is not counted itself, however many come at once.
 */
export async function countSignInAttempt(
  db: Database,
  key: string,
  most: number,
  now: Date,
): Promise<CountedAttempt> {
  const at = now.getTime()
  const { rows } = await sql<CountedAttempt>`
    INSERT INTO rate_limits AS kept (key, points, expire) VALUES (${key}, 1, ${at + windowMilliseconds})
    ON CONFLICT (key) DO UPDATE SET
      points = CASE WHEN kept.expire <= ${at} THEN 1 ELSE kept.points + 1 END,
      expire = CASE WHEN kept.expire <= ${at} THEN excluded.expire ELSE kept.expire END
    WHERE kept.points < ${most} OR kept.expire <= ${at}
    RETURNING key, expire
  `.execute(db)
  if (rows[0] !== undefined) return rows[0]
  const full = await sql<CountedAttempt>`SELECT key, expire FROM rate_limits WHERE key = ${key}`.execute(db)
  const secondsLeft = ((full.rows[0]?.expire ?? at) - at) / 1000
  throw new RateLimitedError(secondsLeft, 'Too many failed sign-ins. Try again later.')
}

/** Takes a try back that did not fail; one whose window is over or was forgiven is gone already. */
export async function refundSignInAttempt(db: Database, { key, expire }: CountedAttempt): Promise<void> {
  await sql`
    UPDATE rate_limits SET points = points - 1 WHERE key = ${key} AND expire = ${expire} AND points > 0
  `.execute(db)
}

/** Forgets the tries under a key. */
export async function clearSignInAttempts(db: Database, key: string): Promise<void> {
  await sql`DELETE FROM rate_limits WHERE key = ${key}`.execute(db)
}
