import pLimit from 'p-limit'
import { ApplicationError } from './errors.ts'

/** Runs work in order, at most `concurrency` pieces at a time. Throws `busy` with a message while `mostWaiting` others wait. */
export function createBoundedQueue({
  concurrency,
  mostWaiting,
  message,
}: {
  concurrency: number
  mostWaiting: number
  message: string
}) {
  const limit = pLimit(concurrency)
  return async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (limit.pendingCount < mostWaiting) return limit(work)
    throw new ApplicationError('unavailable', 'busy', message, 5)
  }
}
