import { isDeepStrictEqual } from 'node:util'
import { describeWaiting, toWaitingColumns } from '../state/waiting.ts'
import type { Waiting } from '../state/waiting.ts'
import { changeInstance } from './step.ts'
import type { StepContext } from './step.ts'

/** Within a stage, the history says at most every ten seconds what a step waits for. */
const quietSeconds = 10

/** Records what a step waits for, with an event if the stage is new or the last event is old. */
export async function reportWaiting(context: StepContext, stage: string, waiting: Waiting): Promise<void> {
  const { waiting_for, status_message, progress } = context.instance
  // What has not changed is not written, so `updated_at` tells since when the step waits.
  if (isDeepStrictEqual(toWaitingColumns(waiting), { waiting_for, status_message, progress })) return
  await changeInstance(context, {
    waiting,
    event: { stage, message: describeWaiting(waiting), quietSeconds },
  })
}
