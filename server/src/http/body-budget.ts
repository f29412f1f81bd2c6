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

/** The share of what is left that a person, an organization, and all strangers together may hold */
const shares = { person: 1 / 4, organization: 1 / 2, strangers: 1 / 4 }
/** So many people are remembered who reached a model with a long body. */
const mostKnown = 10_000

/** Bytes that are held by one of several, within a share of what the others leave. */
class Account {
  readonly #held = new Map<number, number>()

  add(id: number, bytes: number): void {
    const sum = this.of(id) + bytes
    if (sum > 0) this.#held.set(id, sum)
    else this.#held.delete(id)
  }

  of(id: number): number {
    return this.#held.get(id) ?? 0
  }
}

/**
 * Counts the bytes of long request bodies in memory. Each person and organization has a share of what is
 * left, so that others have room. People who have never reached a model with a long body have a small part
 * together. The returned function starts the count of a request: `grow` throws a 429 at a limit, and
 * `release` must follow when the body is no longer needed.
 */
export function createBodyBudget({ perUser, perProcess }: BodyLimits) {
  const people = new Account()
  const organizations = new Account()
  const known = new Set<number>()
  let total = 0
  let strange = 0

  function assertRoom(userId: number, organizationId: number, isKnown: boolean, bytes: number): void {
    const free = isKnown
      ? perProcess - total
      : Math.min(perProcess - total, perProcess * shares.strangers - strange)
    const own = people.of(userId)
    if (own + bytes > Math.min(perUser, (free + own) * shares.person)) {
      throw own === 0 ? serverFull() : tooManyBytes()
    }
    const held = organizations.of(organizationId)
    if (held + bytes > (perProcess - total + held) * shares.organization) throw serverFull()
  }

  return (request: BodySender, length: number): BodyHold | null => {
    if (length <= countedFrom) return (request.bodyHold = null)
    const { userId, organizationId } = request.viewer
    const isKnown = known.has(userId)
    let held = 0
    const add = (bytes: number) => {
      held += bytes
      total += bytes
      if (!isKnown) strange += bytes
      people.add(userId, bytes)
      organizations.add(organizationId, bytes)
    }
    return (request.bodyHold = {
      isKnown,
      grow(bytes) {
        assertRoom(userId, organizationId, isKnown, bytes)
        add(bytes)
      },
      release: () => add(-held),
      reachedModel() {
        known.delete(userId)
        known.add(userId)
        const [oldest] = known
        if (known.size > mostKnown) known.delete(oldest!)
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

function serverFull(): RateLimitedError {
  return new RateLimitedError(
    1,
    'The server holds too many long requests at the moment. Retry in a few seconds.',
  )
}
