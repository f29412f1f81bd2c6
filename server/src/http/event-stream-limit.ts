import type { FastifyReply } from 'fastify'
import { RateLimitedError } from '../base/errors.ts'

/** Most open event streams. */
export interface EventStreamLimits {
  perUser: number
  perProcess: number
}

/** Counts an event stream until its response ends, or throws a 429 when a limit is reached. */
export function createEventStreamLimit({ perUser, perProcess }: EventStreamLimits) {
  const byUser = new Map<number, number>()
  let total = 0

  function add(userId: number, change: 1 | -1): void {
    total += change
    const count = (byUser.get(userId) ?? 0) + change
    if (count > 0) byUser.set(userId, count)
    else byUser.delete(userId)
  }

  return (userId: number, { raw }: FastifyReply): void => {
    // The caller has left, so nothing will be streamed.
    if (raw.destroyed) return
    if ((byUser.get(userId) ?? 0) >= perUser) {
      throw new RateLimitedError(30, 'You have too many event streams open. Close some pages, then retry.')
    }
    if (total >= perProcess) {
      throw new RateLimitedError(30, 'The server has too many event streams open. Retry later.')
    }
    add(userId, 1)
    raw.once('close', () => add(userId, -1))
  }
}
