import { Cron, CronDate } from 'croner'

/** Replaces the policy's `minInstances` from each time that `cron` names until any schedule's next time. */
export interface ScalingSchedule {
  /** Five fields: minute, hour, day of the month, month, day of the week */
  cron: string
  /** An IANA time zone, such as `Europe/Berlin` */
  timeZone: string
  minInstances: number
}

/** What the schedules say, and until when, in milliseconds since 1970. */
export interface ScheduledMinimum {
  /** Null without a schedule in effect */
  minInstances: number | null
  /** Infinity if no schedule starts later */
  until: number
}

export type ScheduleError = 'cron' | 'time_zone' | 'never'

const maxPatternLength = 100

/** Says what is wrong with a schedule: its pattern, its time zone, or that no date matches the pattern. */
export function findScheduleError({
  cron,
  timeZone,
}: Omit<ScalingSchedule, 'minInstances'>): ScheduleError | null {
  if (!isTimeZone(timeZone)) return 'time_zone'
  // The parser also accepts dates and nicknames.
  if (cron.length > maxPatternLength || cron.trim().split(/\s+/).length !== 5) return 'cron'
  try {
    return parse(cron, timeZone).nextRun() === null ? 'never' : null
  } catch {
    return 'cron'
  }
}

/**
 * Finds the schedule that started last; of two at the same time, the later one by the clock on the wall,
 * which skips an hour in spring; of two alike, the later one in the list.
 */
export function findScheduledMinimum(schedules: readonly ScalingSchedule[], now: number): ScheduledMinimum {
  const result: ScheduledMinimum = { minInstances: null, until: Infinity }
  let latest: Start | null = null
  for (const schedule of schedules) {
    const pattern = parse(schedule.cron, schedule.timeZone)
    // The parser counts whole seconds, and excludes the one that it starts from.
    const [last] = pattern.previousRuns(1, new Date(Math.floor(now / 1_000) * 1_000 + 1_000))
    if (last !== undefined && (latest === null || compareStarts({ schedule, at: last }, latest) >= 0)) {
      latest = { schedule, at: last }
      result.minInstances = schedule.minInstances
    }
    result.until = Math.min(result.until, pattern.nextRun(new Date(now))?.getTime() ?? Infinity)
  }
  return result
}

interface Start {
  schedule: ScalingSchedule
  at: Date
}

function compareStarts(one: Start, other: Start): number {
  return one.at.getTime() - other.at.getTime() || measureSkipped(other) - measureSkipped(one)
}

/** How far the clock had skipped the time that the pattern names when it started, in milliseconds. */
function measureSkipped({ schedule: { cron, timeZone }, at }: Start): number {
  const { year, month, day, hour, minute, second } = new CronDate(at, timeZone)
  const wall = Date.UTC(year, month, day, hour, minute, second)
  const [named] = parse(cron, 'UTC').previousRuns(1, new Date(wall + 1_000))
  return named === undefined ? 0 : wall - named.getTime()
}

function parse(cron: string, timezone: string): Cron {
  return new Cron(cron, { timezone, mode: '5-part', paused: true })
}

function isTimeZone(timeZone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}
