import { isDeepStrictEqual } from 'node:util'
import { ApplicationError } from '../../../base/errors.ts'
import type { Deployment } from '../state/store.ts'

/** How many instances a deployment has, and when it sleeps. */
export type Policy = Pick<
  Deployment,
  'min_instances' | 'max_instances' | 'idle_minutes' | 'yields' | 'target_concurrency' | 'schedules'
>

/** The changed columns; null if the policy stays. Throws a 422 if the numbers contradict each other. */
export function changePolicy(
  deployment: Policy,
  update: { [Name in keyof Policy]?: Policy[Name] | undefined },
): Partial<Policy> | null {
  const changed = Object.fromEntries(
    Object.entries(update).filter(
      ([name, value]) => value !== undefined && !isDeepStrictEqual(value, deployment[name as keyof Policy]),
    ),
  ) as Partial<Policy>
  const { min_instances: least, max_instances: most } = { ...deployment, ...changed }
  if (most < least) {
    const message = `Must be at least \`min_instances\`, which is ${least}.`
    const errors = [{ location: 'body', field: 'max_instances', message, code: 'too_small' }]
    throw new ApplicationError('validation_failed', `max_instances: ${message}`, { facts: { errors } })
  }
  return Object.keys(changed).length === 0 ? null : changed
}

/** The desired number of instances, within a policy. */
export function keepWithin(
  desired: number,
  { min_instances: least, max_instances: most }: Pick<Policy, 'min_instances' | 'max_instances'>,
): number {
  return Math.min(Math.max(desired, least), most)
}

/** Some sentences for the history of a deployment. */
export function describePolicy({
  min_instances: least,
  max_instances: most,
  idle_minutes: idle,
  yields,
  schedules,
}: Policy): string {
  const number = least === most ? `${least}` : `${least} to ${most}`
  const noun = most === 1 ? 'instance' : 'instances'
  const sentences = [
    `The deployment has ${number} ${noun} while it is awake.`,
    ...(idle === null ? [] : [`It falls asleep after ${idle} minutes without requests.`]),
    ...(schedules.length === 0 ? [] : ['Its schedules change how many are kept awake.']),
    ...(yields ? ['It yields its hardware when it is idle.'] : []),
  ]
  return sentences.join(' ')
}
