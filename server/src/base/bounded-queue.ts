import pLimit from 'p-limit'
import { ApplicationError } from './errors.ts'

export interface BoundedQueueOptions {
  concurrency: number
  mostWaiting: number
  /** Work that waited longer is refused at its turn, so that a blockage ends with the work that causes it. */
  longestWaitMilliseconds: number
  /** What the error says */
  message: string
}

/** Runs work in order. Throws `server_busy` while `mostWaiting` others wait, or after a long wait. */
export function createBoundedQueue(options: BoundedQueueOptions) {
  const { concurrency, mostWaiting, longestWaitMilliseconds, message } = options
  const limit = pLimit(concurrency)
  const busy = () => new ApplicationError('server_busy', message, 5)
  return async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (limit.pendingCount >= mostWaiting) throw busy()
    const since = performance.now()
    return limit(() => {
      if (performance.now() - since > longestWaitMilliseconds) throw busy()
      return work()
    })
  }
}
