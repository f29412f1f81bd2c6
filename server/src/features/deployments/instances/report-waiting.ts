import { isDeepStrictEqual } from 'node:util'
import { findLastEvent } from '../store.ts'
import { describeWaiting, toWaitingColumns } from '../waiting.ts'
import type { Waiting } from '../waiting.ts'
import { changeInstance } from './step.ts'
import type { StepContext } from './step.ts'

/** Records what a step waits for. Adds an event when the stage changes, and at most every ten seconds within a stage. */
export async function reportWaiting(context: StepContext, stage: string, waiting: Waiting): Promise<void> {
  const { deployment, instance, deps } = context
  const { waiting_for, status_message, progress } = instance
  // What has not changed is not written, so `updated_at` tells since when the step waits.
  if (isDeepStrictEqual(toWaitingColumns(waiting), { waiting_for, status_message, progress })) return
  const last = await findLastEvent(deps.db, deployment.id)
  const isNews =
    last === undefined || last.stage !== stage || deps.clock().getTime() - last.at.getTime() > 10_000
  await changeInstance(context, {
    waiting,
    event: isNews ? { stage, message: describeWaiting(waiting) } : null,
  })
}
