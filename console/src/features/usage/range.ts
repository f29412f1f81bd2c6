/** Spans of days in UTC, such as 2026-01-02; both ends belong to the span. */
export interface DayRange {
  from: string
  to: string
}

/** The days that were asked for; those that are left out are those of the billing period. */
export interface AskedDays {
  from?: string | undefined
  to?: string | undefined
}

/** The days up to today that can be chosen with one press. */
export const recentDays = [7, 30, 90] as const

export type RangeChoice = 'period' | 'custom' | `${(typeof recentDays)[number]}`

const dayMilliseconds = 86_400_000

/** The last `count` days up to the one of `now`. */
export function lastDays(count: number, now: number = Date.now()): DayRange {
  return { from: toDay(now - (count - 1) * dayMilliseconds), to: toDay(now) }
}

/** Which choice the days of the address stand for; without days it is the billing period. */
export function choiceOf(days: AskedDays, now: number = Date.now()): RangeChoice {
  if (days.from === undefined && days.to === undefined) return 'period'
  const count = recentDays.find((count) => {
    const { from, to } = lastDays(count, now)
    return from === days.from && to === days.to
  })
  return count === undefined ? 'custom' : `${count}`
}

/** Every day of a span, in order; none where it is not one. */
export function listDays({ from, to }: DayRange): string[] {
  const days: string[] = []
  for (let at = Date.parse(from); at <= Date.parse(to); at += dayMilliseconds) days.push(toDay(at))
  return days
}

function toDay(at: number): string {
  return new Date(at).toISOString().slice(0, 10)
}
