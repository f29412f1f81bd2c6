import { ApplicationError } from '../../errors.ts'

/** Days that are shown together at most. */
const longest = 92
const dayMilliseconds = 86_400_000

/** Days in UTC, such as `2026-01-02`, both of them inclusive. */
export interface UsageDays {
  from: string
  to: string
}

/**
 * The days that were asked for: what is left out is today, and the first day of the billing period. Throws `invalid_date_range` for
 * a first day after the last, and for more than 92 days.
 */
export function chooseUsageDays(
  asked: { from?: string | undefined; to?: string | undefined },
  periodStart: Date,
  now: Date,
): UsageDays {
  const to = asked.to ?? toDay(now)
  const from = asked.from ?? earlier(toDay(periodStart), to)
  const days = (toMidnight(to).getTime() - toMidnight(from).getTime()) / dayMilliseconds + 1
  if (days < 1) throw invalidRange('The first day is after the last.')
  if (days > longest) throw invalidRange(`Ask for at most ${longest} days.`)
  return { from, to }
}

/** The moment at which a day begins, and that at which the one after it does. */
export function toMoments({ from, to }: UsageDays): { from: Date; to: Date } {
  return { from: toMidnight(from), to: new Date(toMidnight(to).getTime() + dayMilliseconds) }
}

function toDay(moment: Date): string {
  return moment.toISOString().slice(0, 10)
}

function toMidnight(day: string): Date {
  return new Date(`${day}T00:00:00Z`)
}

function earlier(one: string, other: string): string {
  return one < other ? one : other
}

function invalidRange(message: string): ApplicationError {
  return new ApplicationError('invalid', 'invalid_date_range', message)
}
