import { createBoundedQueue } from '../base/bounded-queue.ts'
import type { App } from './app.ts'

/**
 * Handles at most a few requests at a time on the routes that are added to `scope` later, and lets a few
 * hundred wait. A flood of callers without a session then takes few database connections and little of each
 * turn of the event loop. A request takes its turn after its body was read, so that a slow sender delays
 * nobody.
 */
export function takeTurns(scope: App): void {
  const inTurn = createBoundedQueue({
    concurrency: 4,
    mostWaiting: 500,
    longestWaitMilliseconds: 60_000,
    message: 'Too many people who are not signed in use this server right now. Try again in a few seconds.',
  })
  scope.addHook('onRoute', (route) => {
    const { handler, schema } = route
    if (schema !== undefined) schema.errors = [...(schema.errors ?? []), 'server_busy']
    route.handler = function (request, reply) {
      return inTurn(async () => handler.call(this, request, reply))
    }
  })
}
