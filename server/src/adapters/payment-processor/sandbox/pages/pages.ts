import type { FastifyPluginAsync } from 'fastify'
import { checkoutPages } from './checkout.ts'
import { PageError, showError } from './context.ts'
import type { PageContext } from './context.ts'
import { invoicePages } from './invoice.ts'
import { portalPages } from './portal.ts'

/**
 * The sandbox's pages. Whoever has an address may use its page, without a session; forms that another site sends are refused
 * by the server that these pages are part of.
 */
export function sandboxPages(context: PageContext): FastifyPluginAsync {
  return async (app) => {
    app.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: 16_384 },
      (_request, body, done) => {
        // A NUL, which PostgreSQL can't hold, is dropped.
        const fields = new URLSearchParams((body as string).replaceAll(/\0|%00/g, ''))
        done(null, Object.fromEntries(fields))
      },
    )
    app.setErrorHandler((error, _request, reply) => showError(context, reply, error))
    app.setNotFoundHandler((_request, reply) =>
      showError(context, reply, new PageError(404, 'There is nothing here', 'This address is not right.')),
    )
    app.addHook('onRequest', async ({ url }) => {
      if (url.includes('%00')) throw new PageError(404, 'There is nothing here', 'This address is not right.')
    })
    checkoutPages(app, context)
    portalPages(app, context)
    invoicePages(app, context)
  }
}
