import type { Deployment, DeploymentUpdateInput, DeploymentSchedule } from '../../../console/src/contract.ts'
import { describeRule, toRules, parseDays, toSchedules } from '../../../console/src/schedules.ts'
import { usageError } from '../base/errors.ts'

export type CacheScope = Deployment['policy']['cache_scope']

/** The minutes without requests after which a deployment sleeps */
export type IdleMinutes = number | 'never'

/** The options that change a deployment's policy. */
export interface PolicyOptions {
  min?: number | undefined
  max?: number | undefined
  concurrency?: number | undefined
  idleMinutes?: IdleMinutes | undefined
  yields?: boolean | undefined
  cacheScope?: CacheScope | undefined
  /** Hours and cron patterns, or `none` */
  schedule?: readonly string[] | undefined
}

/** Turns the given options into the fields of a change. */
export function toPolicyChange({
  min,
  max,
  concurrency,
  idleMinutes,
  yields,
  cacheScope,
  schedule,
}: PolicyOptions): DeploymentUpdateInput {
  return {
    ...(min !== undefined && { min_instances: min }),
    ...(max !== undefined && { max_instances: max }),
    ...(concurrency !== undefined && { target_concurrency: concurrency }),
    ...(yields !== undefined && { yields }),
    ...(cacheScope !== undefined && { cache_scope: cacheScope }),
    ...(schedule !== undefined && { schedules: parseSchedules(schedule) }),
    ...(idleMinutes !== undefined && { idle_minutes: idleMinutes === 'never' ? null : idleMinutes }),
  }
}

/** A deployment's instances and its sleep: `1 instance, sleeps after 30 minutes without requests` */
export function describePolicy({ policy }: Deployment): string {
  const { min_instances: least, max_instances: most, idle_minutes: minutes } = policy
  const instances = `${least === most ? least : `${least} to ${most}`} ${most === 1 ? 'instance' : 'instances'}`
  const sleep =
    minutes === null
      ? 'never sleeps by itself'
      : `sleeps after ${minutes} ${minutes === 1 ? 'minute' : 'minutes'} without requests`
  return [
    instances,
    sleep,
    ...(policy.yields ? ['yields its hardware'] : []),
    ...(policy.cache_scope === 'member' ? ['a prompt cache for each member'] : []),
  ].join(', ')
}

/** The schedules of a deployment in words. */
export function describeSchedules({ policy }: Deployment): string[] {
  return toRules(policy.schedules).map(describeRule)
}

const dayWords: Readonly<Record<string, string>> = { daily: '*', weekdays: 'MON-FRI', weekends: 'SAT,SUN' }

/**
 * Reads the values of `--schedule`: hours such as `weekdays 08:00-18:00 Europe/Berlin 2`, a cron pattern such
 * as `0 8 * * MON-FRI Europe/Berlin 2`, or `none`. The server checks time zones and patterns.
 */
function parseSchedules(values: readonly string[]): DeploymentSchedule[] {
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
