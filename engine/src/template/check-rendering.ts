import { DeadlineWorker, JobAbortedError } from '@berth/grammar/deadline-worker.ts'
import { LoadError } from '../base/load-error.ts'
import type { Templates } from './render-once.ts'

/** Far more than the largest templates of public models need, also on a busy machine */
const milliseconds = 30_000

/** Renders templates in a thread with limits. Rejects with a LoadError for what they exceed. */
export async function checkRendering(templates: Templates): Promise<void> {
  const worker = new DeadlineWorker<Templates, boolean>(
    new URL('./render-thread.ts', import.meta.url),
    milliseconds,
  )
  try {
    if (await worker.run(templates)) throw refuse('renders a short message to more than 100,000 characters')
  } catch (error) {
    throw error instanceof JobAbortedError ? refuse(`can't be rendered: ${error.message}`) : error
  } finally {
    worker.close()
  }
}

function refuse(reason: string): LoadError {
  return new LoadError('launch_rejected', `The model's chat template ${reason}.`)
}
