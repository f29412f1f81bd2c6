import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { isDatabaseUnavailable } from '../../database/connect.ts'
import type { Database } from '../../database/tables.ts'
import { RateLimitedError } from '../../base/errors.ts'

/** How many attempts count in a window, and what a caller above the limit reads. */
export interface RateLimit {
  attempts: number
  windowMilliseconds: number
  message: string
}

/** An attempt that counts until it is refunded. */
export interface CountedAttempt {
  key: string
  /** End of the attempt's window in ms since 1970; distinguishes the windows of a key */
  expire: number
}

/** Counts an attempt for all processes. Throws a `RateLimitedError`, without counting, at the limit. */
export async function countAttempt(
  db: Database,
  key: string,
  limit: RateLimit,
  now: Date,
): Promise<CountedAttempt> {
  const at = now.getTime()
  const { rows } = await sql<CountedAttempt>`
    INSERT INTO rate_limits AS counter (key, points, expire) VALUES (${key}, 1, ${at + limit.windowMilliseconds})
    ON CONFLICT (key) DO UPDATE SET
      points = CASE WHEN counter.expire <= ${at} THEN 1 ELSE counter.points + 1 END,
      expire = CASE WHEN counter.expire <= ${at} THEN excluded.expire ELSE counter.expire END
    WHERE counter.points < ${limit.attempts} OR counter.expire <= ${at}
    RETURNING key, expire
  `.execute(db)
  if (rows[0] !== undefined) return rows[0]
  const full = await sql<CountedAttempt>`SELECT key, expire FROM rate_limits WHERE key = ${key}`.execute(db)
  throw new RateLimitedError(((full.rows[0]?.expire ?? at) - at) / 1000, limit.message)
}

/** Counts an attempt. The owner's networks have separate limits, so that others can't lock them out there. */
export async function countOnAccount(
  db: Database,
  account: { key: string; network: string; isKnownNetwork: boolean },
  limit: RateLimit,
  now: Date,
): Promise<CountedAttempt[]> {
  const { key, network, isKnownNetwork } = account
  const own = isKnownNetwork ? [await countAttempt(db, `${key}:${network}`, limit, now)] : []
  try {
    return [...own, await countAttempt(db, key, limit, now)]
  } catch (error) {
    if (error instanceof RateLimitedError && isKnownNetwork) return own
    await refundAttempts(db, own)
    throw error
  }
}

const firstPauseMilliseconds = 500
const longestPauseMilliseconds = 30_000

/** Uncounts attempts, in the background if the database can't do it now: right passwords must not count. */
export async function refundAttempts(db: Database, attempts: readonly CountedAttempt[]): Promise<void> {
  await Promise.all(
    attempts.map((attempt) =>
      uncount(db, attempt).catch((error: unknown) => {
        if (!isDatabaseUnavailable(error)) throw error
        void refundLater(db, attempt)
      }),
    ),
  )
}

/** Runs `judge`, and uncounts the attempts if it fails without a judgment: above a limit, or in an outage. */
export async function refundUnjudged<Result>(
  db: Database,
  attempts: readonly CountedAttempt[],
  judge: () => Promise<Result>,
): Promise<Result> {
  try {
    return await judge()
  } catch (error) {
    if (error instanceof RateLimitedError || isDatabaseUnavailable(error)) await refundAttempts(db, attempts)
    throw error
  }
}

async function refundLater(db: Database, attempt: CountedAttempt): Promise<void> {
  for (let pause = firstPauseMilliseconds; ; pause = Math.min(pause * 2, longestPauseMilliseconds)) {
    await delay(pause, undefined, { ref: false })
    try {
      return await uncount(db, attempt)
    } catch (error) {
      // Also when the server closes its connections
      if (!isDatabaseUnavailable(error)) return
    }
  }
}

/** Does nothing if the window of the attempt has ended or was cleared. */
async function uncount(db: Database, { key, expire }: CountedAttempt): Promise<void> {
  await sql`
    UPDATE rate_limits SET points = points - 1 WHERE key = ${key} AND expire = ${expire} AND points > 0
  `.execute(db)
}

/** Deletes all attempts counted under a key, and under keys that continue it with a colon. */
export async function clearAttempts(db: Database, key: string): Promise<void> {
  await sql`DELETE FROM rate_limits WHERE key = ${key} OR starts_with(key, ${`${key}:`})`.execute(db)
}

/** Deletes the counters whose window has ended. */
export async function deleteExpiredAttempts(db: Database, now: Date): Promise<void> {
  await sql`DELETE FROM rate_limits WHERE expire IS NOT NULL AND expire < ${now.getTime()}`.execute(db)
}
