import type { FastifyReply } from 'fastify'
import { serverStopping } from '../base/errors.ts'
import { OpenList } from '../base/open-list.ts'
import type { App } from './app.ts'

declare module 'fastify' {
  interface FastifyReply {
    /** For the list of open replies */
    openIndex: number
  }
}

/** Answers the requests whose connections a stop of the server is about to close. */
export function answerAtEnd(app: App): void {
  const open = new OpenList<FastifyReply>()
  app.decorateReply('openIndex', -1)
  app.addHook('onRequest', (_request, reply, done) => {
    open.add(reply)
    done()
  })
  app.addHook('onResponse', (_request, reply, done) => {
    open.delete(reply)
    done()
  })
  app.ending.signal.addEventListener('abort', () => {
    for (const reply of open.list()) if (isUnanswered(reply)) void reply.send(serverStopping())
  })
}

/** The watch of the rate answers requests whose bodies still arrive. */
function isUnanswered({ request, raw, sent }: FastifyReply): boolean {
  return !sent && !raw.headersSent && request.raw.complete && !request.hasOwnAccessLog
}
