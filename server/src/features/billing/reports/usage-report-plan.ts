import { createHash } from 'node:crypto'
import { latest } from '../../metering/hours.ts'
import type { UsageReport } from './usage-report-store.ts'

const hourMilliseconds = 3_600_000
/** Usage gets a time in its period this long after its end; processors finalize invoices after an hour. */
const lateMilliseconds = 30 * 60_000

/** An event's digest (Stripe allows 100 characters), per customer because installations share accounts. */
export function toEventIdentifier(customerId: string, priceKey: string, hour: Date): string {
  return createHash('sha256')
    .update(JSON.stringify([customerId, priceKey, hour]))
    .digest('hex')
}

/**
 * The timestamp of an hour's meter event: its last second, which is inside a subscription that began in that
 * hour. Usage of a closed period gets the start of the current period, to appear on the next invoice. A price
 * charges usage from `chargedSince` on, the time at which the subscription got it.
 */
export function toEventTime(
  hour: Date,
  { periodStart, chargedSince }: { periodStart: Date | null; chargedSince: Date },
  now: Date,
): Date {
  const last = new Date(hour.getTime() + hourMilliseconds - 1000)
  const isLate =
    periodStart !== null && last < periodStart && now.getTime() >= periodStart.getTime() + lateMilliseconds
  return latest(isLate ? periodStart : last, chargedSince)
}

/** The next action for an unconfirmed report. */
export type NextAttempt = 'wait' | 'send' | 'compare'

/** Another process may be sending the report for this long. */
const attemptMilliseconds = 2 * 60_000
/** Processors remember an idempotency key for at least 24 hours. */
const retryMilliseconds = 23 * hourMilliseconds
const compareMilliseconds = 24 * hourMilliseconds

/** Plans an unconfirmed report: retry while its idempotency key is valid, then compare totals. */
export function planAttempt(
  {
    first_attempt_at: first,
    last_attempt_at: last,
  }: Pick<UsageReport, 'first_attempt_at' | 'last_attempt_at'>,
  now: Date,
): NextAttempt {
  if (now.getTime() - last.getTime() < attemptMilliseconds) return 'wait'
  const age = now.getTime() - first.getTime()
  if (age < retryMilliseconds) return 'send'
  return age < compareMilliseconds ? 'wait' : 'compare'
}

/**
 * The assumed time of an earlier attempt for an hour without a report; null for a recent hour. After the
 * restore of a backup the processor may have counted an old hour, and its idempotency key may have expired:
 * treat the hour as reported when it ended.
 */
export function assumeEarlierAttempt(hour: Date, now: Date): Date | null {
  const end = new Date(hour.getTime() + hourMilliseconds)
  return now.getTime() - end.getTime() < retryMilliseconds ? null : end
}

const countDelayMilliseconds = 30 * 60_000

/** True once the processor's total, which lags behind, includes every attempt up to `lastAttemptAt`. */
export function isCountSettled(lastAttemptAt: Date | null, now: Date): boolean {
  return lastAttemptAt === null || now.getTime() - lastAttemptAt.getTime() >= countDelayMilliseconds
}

/** Judges `unconfirmed` quantities by the processor's total (`counted`) and the `confirmed` total. */
export function judgeReports(
  counted: number,
  confirmed: number,
  unconfirmed: readonly number[],
): 'arrived' | 'lost' | 'unclear' {
  if (counted === confirmed) return 'lost'
  const all = unconfirmed.reduce((sum, quantity) => sum + quantity, 0)
  return counted === confirmed + all ? 'arrived' : 'unclear'
}
