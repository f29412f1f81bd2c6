import { RateLimitedError } from '../base/errors.ts'
import type { BodyHold, BodySender } from './raw-body.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** A long body's share of the budget for bodies in memory; null for a short body */
    bodyHold?: BodyHold | null
  }
}

/** Most bytes of request bodies in the memory of a process. */
export interface BodyLimits {
  perUser: number
  perProcess: number
}

/** A shorter body is not counted: its request takes as much memory, and requests in flight are limited. */
const countedFrom = 16 * 1024

/**
 * Counts the bytes of long request bodies in memory. The returned function starts the count of a request:
 * `grow` throws a 429 at a limit, and `release` must follow when the body is no longer needed.
 */
export function createBodyBudget({ perUser, perProcess }: BodyLimits) {
  const byUser = new Map<number, number>()
  let total = 0

  function add(userId: number, bytes: number): void {
    total += bytes
    const sum = (byUser.get(userId) ?? 0) + bytes
    if (sum > 0) byUser.set(userId, sum)
    else byUser.delete(userId)
  }

  return (request: BodySender, length: number): BodyHold | null => {
    if (length <= countedFrom) return (request.bodyHold = null)
    const { userId } = request.viewer
    let held = 0
    return (request.bodyHold = {
      grow(bytes) {
        if (total + bytes > perProcess || (byUser.get(userId) ?? 0) + bytes > perUser) throw tooManyBytes()
        held += bytes
        add(userId, bytes)
      },
      release() {
        if (held > 0) add(userId, -held)
        held = 0
      },
    })
  }
}

function tooManyBytes(): RateLimitedError {
  return new RateLimitedError(
    1,
    'Your open requests hold too much data. Retry when some of them have finished.',
  )
}
