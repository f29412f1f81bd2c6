import type { Deployment, DeploymentUpdateInput } from '../../../console/src/contract.ts'
import { describeRule, toRules } from '../../../console/src/schedules.ts'
import { parseSchedules } from './schedule.ts'

/** The minutes without requests after which a deployment sleeps */
export type IdleMinutes = number | 'never'

/** The options that change a deployment's policy. */
export interface PolicyOptions {
  min?: number | undefined
  max?: number | undefined
  concurrency?: number | undefined
  idleMinutes?: IdleMinutes | undefined
  yields?: boolean | undefined
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
  schedule,
}: PolicyOptions): DeploymentUpdateInput {
  return {
    ...(min !== undefined && { min_instances: min }),
    ...(max !== undefined && { max_instances: max }),
    ...(concurrency !== undefined && { target_concurrency: concurrency }),
    ...(yields !== undefined && { yields }),
    ...(schedule !== undefined && { schedules: parseSchedules(schedule) }),
    ...(idleMinutes !== undefined && { idle_minutes: idleMinutes === 'never' ? null : idleMinutes }),
  }
}

/**
 * A deployment's number of instances and its sleep, such as `1 instance, sleeps after 30 minutes without
 * requests`.
 */
export function describePolicy({ policy }: Deployment): string {
  const { min_instances: least, max_instances: most, idle_minutes: minutes } = policy
  const instances = `${least === most ? least : `${least} to ${most}`} ${most === 1 ? 'instance' : 'instances'}`
  const sleep =
    minutes === null
      ? 'never sleeps by itself'
      : `sleeps after ${minutes} ${minutes === 1 ? 'minute' : 'minutes'} without requests`
  return [instances, sleep, ...(policy.yields ? ['yields its hardware'] : [])].join(', ')
}

/** The schedules of a deployment in words. */
export function describeSchedules({ policy }: Deployment): string[] {
  return toRules(policy.schedules).map(describeRule)
}
