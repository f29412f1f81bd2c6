import { createBoundedQueue } from '../base/bounded-queue.ts'
import type { App } from './app.ts'

/**
 * Handles a few requests at a time on the routes added to `scope` later; a few hundred wait. So a flood
 * without sessions takes few database connections and turns of the event loop. A request's turn comes after
 * its body, so that a slow sender delays no others.
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
