import { fallAsleep } from './instances/step.ts'
import type { Pass } from './instances/step.ts'
import { readLoads } from './instance-loads.ts'

/** Puts a deployment to sleep if nobody has used it for the minutes of its policy. */
export async function fallAsleepIfIdle(pass: Pass): Promise<void> {
  const { deployment, instances, deps } = pass
  const { wanted, failure_reason: failure, idle_minutes: limit } = deployment
  if (limit === null || wanted !== 'awake' || failure !== null) return
  if (instances.length === 0 || instances.some(({ status }) => status !== 'running')) return
  const loads = [
    ...(
      await readLoads(
        deps.db,
        instances.map(({ id }) => id),
      )
    ).values(),
  ]
  if (loads.some(({ inFlight }) => inFlight > 0)) return
  const now = deps.clock().getTime()
  const idleMinutes = instances.map(({ status_changed_at: since }) => (now - since.getTime()) / 60_000)
  const minutes = Math.min(...idleMinutes, ...loads.map(({ idleSeconds }) => (idleSeconds ?? Infinity) / 60))
  if (minutes < limit) return
  await fallAsleep(
    pass,
    `Falls asleep after ${limit} ${limit === 1 ? 'minute' : 'minutes'} without requests.`,
  )
}
