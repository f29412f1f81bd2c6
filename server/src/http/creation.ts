import type { FastifyRequest } from 'fastify'
import type { OuterTransaction } from '../database/outer-transaction.ts'
import type { Database } from '../database/tables.ts'

/**
 * How a route creates what it creates. `atomically`: by the dependencies of `joinResponse`, so that the thing
 * and its response commit together. `by unique name`: the route waits for others after its commit, and a
 * second thing of the same name is refused.
 */
export type Creation = 'atomically' | 'by unique name'

declare module 'fastify' {
  interface FastifyRequest {
    /** Where a request with an idempotency key writes; else null */
    transaction: OuterTransaction | null
  }
  interface FastifyContextConfig {
    /** The route creates something, so it repeats its response to an `Idempotency-Key`. */
    creates?: Creation
  }
}

/** Makes what a request with an idempotency key writes commit together with its response. */
export function joinResponse<Deps extends { db: Database }>(
  deps: Deps,
  { transaction }: FastifyRequest,
): Deps {
  return transaction === null ? deps : { ...deps, db: transaction.db }
}
