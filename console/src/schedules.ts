import type { DeploymentSchedule } from './contract.ts'

/** Hours in which a deployment is kept awake: one schedule at their beginning, and one at their end. */
export interface AwakeHours {
  kind: 'hours'
  /** Of the week, Sunday is 0 */
  days: readonly number[]
  /** `08:00` */
  from: string
  /** Before or at `from`: on the next day */
  until: string
  timeZone: string
  instances: number
}

/** A schedule that is no such hours. */
export interface ScheduledTime {
  kind: 'time'
  schedule: DeploymentSchedule
}

export type ScheduleRule = AwakeHours | ScheduledTime

const dayNames = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']
const everyDay = [0, 1, 2, 3, 4, 5, 6]

/** Finds hours in the schedules of a policy. */
export function toRules(schedules: readonly DeploymentSchedule[]): ScheduleRule[] {
  const rules: ScheduleRule[] = []
  for (let index = 0; index < schedules.length; index += 1) {
    const schedule = schedules[index]!
    const hours = findHours(schedule, schedules[index + 1])
    rules.push(hours ?? { kind: 'time', schedule })
    if (hours !== null) index += 1
  }
  return rules
}

export function toSchedules(rules: readonly ScheduleRule[]): DeploymentSchedule[] {
  return rules.flatMap((rule) => {
    if (rule.kind === 'time') return [rule.schedule]
    const { days, from, until, timeZone, instances } = rule
    const lastDays = until <= from ? days.map((day) => (day + 1) % 7) : days
    return [
      { cron: toCron(from, days), time_zone: timeZone, min_instances: instances },
      { cron: toCron(until, lastDays), time_zone: timeZone, min_instances: 0 },
    ]
  })
}

/** `Keep 2 awake on weekdays from 08:00 to 18:00 (Europe/Berlin)` */
export function describeRule(rule: ScheduleRule): string {
  const keep = (instances: number) => (instances === 0 ? 'Allow sleep' : `Keep ${instances} awake`)
  if (rule.kind === 'hours') {
    const { days, from, until, timeZone, instances } = rule
    return `${keep(instances)} ${nameDays(days)} from ${from} to ${until} (${timeZone})`
  }
  const { cron, time_zone: timeZone, min_instances: instances } = rule.schedule
  const time = readTime(cron)
  const when = time === null ? `at ${cron}` : `${nameDays(time.days)} from ${time.at}`
  return `${keep(instances)} ${when} (${timeZone})`
}

/** `every day`, `on weekdays`, `on weekends`, `on Mon to Thu`, `on Mon and Wed` */
function nameDays(days: readonly number[]): string {
  const sorted = sortDays(days)
  const names = new Map([
    ['1,2,3,4,5,6,0', 'every day'],
    ['1,2,3,4,5', 'on weekdays'],
    ['6,0', 'on weekends'],
  ])
  const isRow = sorted.length > 2 && sorted.every((day, place) => day === (sorted[0]! + place) % 7)
  const [first, last] = [sorted.slice(0, -1).map(nameDay), nameDay(sorted.at(-1)!)]
  const list = isRow ? `${first[0]} to ${last}` : [first.join(', '), last].filter(Boolean).join(' and ')
  return names.get(sorted.join()) ?? `on ${list}`
}

/** `Mon` */
export const nameDay = (day: number) => `${dayNames[day]![0]}${dayNames[day]!.slice(1).toLowerCase()}`

/** Monday first */
export function sortDays(days: readonly number[]): number[] {
  return days.toSorted((one, other) => ((one + 6) % 7) - ((other + 6) % 7))
}

function findHours(first: DeploymentSchedule, second: DeploymentSchedule | undefined): AwakeHours | null {
  if (second === undefined || first.min_instances === 0 || second.min_instances !== 0) return null
  if (first.time_zone !== second.time_zone) return null
  const [from, until] = [readTime(first.cron), readTime(second.cron)]
  if (from === null || until === null) return null
  const shift = until.at <= from.at ? 1 : 0
  const lastDays = from.days.map((day) => (day + shift) % 7)
  if (sortDays(lastDays).join() !== sortDays(until.days).join()) return null
  const { days, at } = from
  const { time_zone: timeZone, min_instances: instances } = first
  return { kind: 'hours', days, from: at, until: until.at, timeZone, instances }
}

/** The days and the time of a pattern such as `30 8 * * MON-FRI`; null for other patterns. */
function readTime(cron: string): { days: number[]; at: string } | null {
  const match = /^\s*(\d{1,2})\s+(\d{1,2})\s+\*\s+\*\s+(\S+)\s*$/.exec(cron)
  const days = match && parseDays(match[3]!)
  if (!match || days === null || Number(match[1]) > 59 || Number(match[2]) > 23) return null
  return { days, at: `${match[2]!.padStart(2, '0')}:${match[1]!.padStart(2, '0')}` }
}

/** The days of `*`, `MON-FRI`, `sat,sun` or `1-5`; null for anything else. */
export function parseDays(field: string): number[] | null {
  if (field === '*') return everyDay
  const days = new Set<number>()
  for (const part of field.split(',')) {
    const [first, last = first, ...rest] = part.split('-').map(readDay)
    if (first === undefined || last === undefined || rest.length > 0 || first > last) return null
    for (let day = first; day <= last; day += 1) days.add(day % 7)
  }
  return sortDays([...days])
}

/** Sunday is 0 or 7. */
function readDay(name: string): number | undefined {
  if (/^[0-7]$/.test(name)) return Number(name)
  const index = dayNames.indexOf(name.toUpperCase())
  return index === -1 ? undefined : index
}

function toCron(time: string, days: readonly number[]): string {
  const [hour, minute] = time.split(':').map(Number)
  return `${minute} ${hour} * * ${toDayField(days)}`
}

function toDayField(days: readonly number[]): string {
  const sorted = sortDays(days)
  if (sorted.length === 7) return '*'
  if (sorted.join() === '1,2,3,4,5') return 'MON-FRI'
  return sorted.map((day) => dayNames[day]).join(',')
}
