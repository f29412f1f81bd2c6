import type { FastifyInstance } from 'fastify'
import type { Log } from '../base/log.ts'
import { CallerLeft } from './errors.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Aborts when the caller disconnects or the engine shuts down. */
    left: AbortSignal
    /** Token counts for the log line */
    used: string
  }
}

/** Gives each request the signal `left` and logs its end. `ending` aborts when the engine shuts down. */
export function followRequests(fastify: FastifyInstance, ending: AbortSignal, log: Log): void {
  fastify.decorateRequest('left', null as unknown as AbortSignal)
  fastify.decorateRequest('used', '')
  fastify.addHook('onRequest', async (request, reply) => {
    const caller = new AbortController()
    request.left = AbortSignal.any([caller.signal, ending])
    const started = performance.now()
    reply.raw.on('close', () => {
      const complete = reply.raw.writableFinished
      if (!complete) caller.abort(new CallerLeft())
      if (request.routeOptions.url === '/health') return
      const route = `${request.method} ${request.routeOptions.url ?? 'unknown route'}`
      const status = complete ? reply.raw.statusCode : 'left'
      const took = Math.round(performance.now() - started)
      log(`request ${request.id} ${route} ${status} ${request.used} ${took} ms`.replace(/ {2,}/g, ' '))
    })
  })
}
