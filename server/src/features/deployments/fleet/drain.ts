import { readLoads } from '../serving/instance-loads.ts'
import { moveInstance, timeInStatus } from './step.ts'
import type { StepContext, StepResult } from './step.ts'

/** How long requests may go on at the instance of a deployment that falls asleep */
const sleepMilliseconds = 30_000
const pollMilliseconds = 1_000

/** The step for `draining`: waits for the requests in flight, then releases the instance. */
export async function finishRequests(context: StepContext): Promise<StepResult> {
  const { pass, deps, instance } = context
  const { drainNotice } = deps.config.pace
  const elapsed = timeInStatus(context)
  if (elapsed < drainNotice) return { waitMilliseconds: drainNotice - elapsed }
  const load = (await readLoads(deps.db, [instance.id])).get(instance.id)
  const mayWait = pass.deployment.desired_state === 'awake' || elapsed < sleepMilliseconds
  if (load !== undefined && load.inFlight > 0 && mayWait) return { waitMilliseconds: pollMilliseconds }
  const next = await moveInstance(
    context,
    { from: 'draining', to: 'releasing' },
    { columns: { engine_url: null }, waiting: { for: 'release' } },
  )
  return { next }
}
