import pLimit from 'p-limit'
import { ApplicationError } from '../../errors.ts'

/** Runs work in order, at most `concurrency` pieces at a time. Throws `busy` while `mostWaiting` others wait. */
export function createBoundedQueue({
  concurrency,
  mostWaiting,
}: {
  concurrency: number
  mostWaiting: number
}) {
  const limit = pLimit(concurrency)
  return async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (limit.pendingCount < mostWaiting) return limit(work)
    const message = 'Too many people are signing in right now. Try again in a few seconds.'
    throw new ApplicationError('unavailable', 'busy', message, 5)
  }
}
