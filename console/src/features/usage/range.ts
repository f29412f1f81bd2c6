/** A range of UTC days such as 2026-01-02, including both ends. */
export interface DayRange {
  from: string
  to: string
}

/** The range in the URL. A missing end defaults to the billing period's. */
export interface RequestedDays {
  from?: string | undefined
  to?: string | undefined
}

/** Preset numbers of days up to today. */
export const recentDays = [7, 30, 90] as const

export type RangePreset = 'period' | 'custom' | `${(typeof recentDays)[number]}`

const dayMilliseconds = 86_400_000

/** The last `count` days, including the day of `now`. */
export function lastDays(count: number, now: number = Date.now()): DayRange {
  return { from: toDay(now - (count - 1) * dayMilliseconds), to: toDay(now) }
}

/** As many days right before a range. */
export function daysBefore({ from, to }: DayRange): DayRange {
  const end = Date.parse(from) - dayMilliseconds
  return { from: toDay(end - (Date.parse(to) - Date.parse(from))), to: toDay(end) }
}

/** Whether the days before a range are comparable: those of a week or of 30 days up to today. */
export const isCompared = (days: RequestedDays): boolean => ['7', '30'].includes(matchPreset(days))

/** The option that matches a range; the billing period for an empty one. */
export function matchPreset(days: RequestedDays, now: number = Date.now()): RangePreset {
  if (days.from === undefined && days.to === undefined) return 'period'
  const count = recentDays.find((count) => {
    const { from, to } = lastDays(count, now)
    return from === days.from && to === days.to
  })
  return count === undefined ? 'custom' : `${count}`
}

/** Every day of a range, in order; empty for an invalid range. */
export function listDays({ from, to }: DayRange): string[] {
  const days: string[] = []
  for (let at = Date.parse(from); at <= Date.parse(to); at += dayMilliseconds) days.push(toDay(at))
  return days
}

function toDay(at: number): string {
  return new Date(at).toISOString().slice(0, 10)
}
