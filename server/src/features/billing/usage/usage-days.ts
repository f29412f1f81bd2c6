import { ApplicationError } from '../../../base/errors.ts'

const maxDays = 92
const dayMilliseconds = 86_400_000

/** A range of UTC days such as `2026-01-02`, both inclusive. */
export interface UsageDays {
  from: string
  to: string
}

/** The requested days, by default from the billing period's start to today. Throws `invalid_date_range`. */
export function chooseUsageDays(
  requested: { from?: string | undefined; to?: string | undefined },
  periodStart: Date,
  now: Date,
): UsageDays {
  const to = requested.to ?? toDay(now)
  const from = requested.from ?? earlier(toDay(periodStart), to)
  const days = (toMidnight(to).getTime() - toMidnight(from).getTime()) / dayMilliseconds + 1
  if (days < 1) throw invalidRange('The first day is after the last.')
  if (days > maxDays) throw invalidRange(`The range has ${days} days. Request at most ${maxDays}.`)
  return { from, to }
}

/** Converts days to the interval [start of the first, end of the last). */
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
  return new ApplicationError('invalid_date_range', message)
}
