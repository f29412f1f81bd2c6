import type { DeploymentSchedule } from '../../../console/src/contract.ts'
import { parseDays, toSchedules } from '../../../console/src/schedules.ts'
import { usageError } from '../base/errors.ts'

const dayWords: Readonly<Record<string, string>> = { daily: '*', weekdays: 'MON-FRI', weekends: 'SAT,SUN' }

/**
 * Reads the values of `--schedule`: hours such as `weekdays 08:00-18:00 Europe/Berlin 2`, a cron pattern such
 * as `0 8 * * MON-FRI Europe/Berlin 2`, or `none`. The server checks time zones and patterns.
 */
export function parseSchedules(values: readonly string[]): DeploymentSchedule[] {
  if (values.includes('none')) {
    if (values.length > 1) throw usageError('`--schedule none` removes all schedules. Leave the others out.')
    return []
  }
  return values.flatMap(parseSchedule)
}

function parseSchedule(value: string): DeploymentSchedule[] {
  const words = value.trim().split(/\s+/)
  const [zone, count] = words.slice(-2)
  if (!/^\d{1,3}$/.test(count ?? '')) throw malformed(value)
  if (words.length === 7) {
    return [{ cron: words.slice(0, 5).join(' '), time_zone: zone!, min_instances: Number(count) }]
  }
  const [days, hours] = words
  const times = /^([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)$/.exec(hours ?? '')
  const parsed = parseDays(dayWords[days!.toLowerCase()] ?? days!)
  if (words.length !== 4 || times === null || parsed === null || Number(count) === 0) throw malformed(value)
  const [from, until] = hours!.split('-') as [string, string]
  return toSchedules([
    { kind: 'hours', days: parsed, from, until, timeZone: zone!, instances: Number(count) },
  ])
}

const malformed = (value: string) =>
  usageError(
    `“${value}” is no schedule. Write hours, such as “weekdays 08:00-18:00 Europe/Berlin 2”, or a cron pattern, such as “0 8 * * MON-FRI Europe/Berlin 2”.`,
  )
