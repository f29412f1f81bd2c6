import type { FastifyPluginAsync } from 'fastify'
import { checkoutPages } from './checkout.ts'
import { notFound, showError } from './context.ts'
import type { PageContext } from './context.ts'
import { invoicePages } from './invoice.ts'
import { portalPages } from './portal.ts'

/**
 * The pages for customers. They need no session: the secret in a page's URL grants access. The server that
 * registers them rejects cross-site form submissions.
 */
export function sandboxPages(context: PageContext): FastifyPluginAsync {
  return async (app) => {
    app.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: 16_384 },
      (_request, body, done) => {
        // PostgreSQL can't store a NUL.
        const fields = new URLSearchParams((body as string).replaceAll(/\0|%00/g, ''))
        done(null, Object.fromEntries(fields))
      },
    )
    app.setErrorHandler((error, _request, reply) => showError(context, reply, error))
    app.setNotFoundHandler((_request, reply) => showError(context, reply, notFound()))
    app.addHook('onRequest', async ({ url }) => {
      if (url.includes('%00')) throw notFound()
    })
    checkoutPages(app, context)
    portalPages(app, context)
    invoicePages(app, context)
  }
}
