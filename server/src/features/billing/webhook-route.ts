import type { Application } from '../../application.ts'
import type { App } from '../../http/app.ts'
import { problems } from '../../http/openapi.ts'
import { receiveWebhook } from './events.ts'
import { receivedBody } from './schemas.ts'

/** The payment processor's way in; needs a scope of its own, because the body is taken as bytes. */
export function billingWebhookRoute(app: App, application: Application): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

  app.post(
    '/v1/billing/webhook',
    {
      config: { csrf: false },
      schema: {
        operationId: 'receiveBillingWebhook',
        summary: 'Tell of an event, as the payment processor does',
        description:
          'Takes Stripe’s events with their `Stripe-Signature` over the raw body. What an event is about is fetched again from the processor, so neither order nor repetition matters.',
        tags: ['Billing'],
        security: [],
        response: { 200: receivedBody, ...problems(400, 413) },
      },
    },
    async ({ body, headers }) => {
      const signature = headers['stripe-signature']
      const rawBody = Buffer.isBuffer(body) ? body : Buffer.alloc(0)
      await receiveWebhook(application, rawBody, typeof signature === 'string' ? signature : '')
      return { received: true as const }
    },
  )
}
