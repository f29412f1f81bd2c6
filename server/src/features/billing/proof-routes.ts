import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { ApplicationError } from '../../base/errors.ts'
import type { App } from '../../http/app.ts'
import type { Services } from '../../services.ts'
import { openProof } from '../metering/proof.ts'
import { openInvoiceProof } from './reports/invoice-proof.ts'
import { invoiceParameters, proofBody, proofQuery } from './proof-schemas.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'log' | 'payments'>

const tags = ['Billing']
const manage = { permission: 'manageBilling' } as const

/** The longest range of a proof: a year. */
const maxMilliseconds = 366 * 24 * 3_600_000

/** Documents that let a program recompute a bill without the server. */
export function proofRoutes(app: App, deps: Deps): void {
  app.get(
    '/v1/billing/usage/proof',
    {
      config: manage,
      schema: {
        operationId: 'getUsageProof',
        summary: 'Download the proof of the usage of your current organization',
        description:
          'The document recomputes without the server: `berth bill verify FILE`. It ends with the last sealed hour; hours ' +
          'are sealed 15 minutes after their end. A reversed range or one of more than 366 days is a 422 `invalid_date_range`.',
        tags,
        querystring: proofQuery,
        response: { 200: proofBody },
        errors: ['invalid_date_range', 'mixed_currencies'],
      },
    },
    async ({ query, viewer }, reply) => {
      const length = query.to.getTime() - query.from.getTime()
      if (length < 0) throw new ApplicationError('invalid_date_range', '`from` is after `to`.')
      if (length > maxMilliseconds) {
        throw new ApplicationError('invalid_date_range', 'Request at most 366 days.')
      }
      return sendProof(reply, 'usage-proof.json', await openProof(deps, viewer.organizationId, query))
    },
  )

  app.get(
    '/v1/billing/invoices/:invoice_id/proof',
    {
      config: manage,
      schema: {
        operationId: 'getInvoiceProof',
        summary: 'Download the proof of an invoice',
        description:
          'The document recomputes without the server: `berth bill verify FILE`, which also compares the processor’s lines.',
        tags,
        params: invoiceParameters,
        response: { 200: proofBody },
        errors: ['not_found', 'mixed_currencies', 'payment_processor_unavailable'],
      },
    },
    async ({ params: { invoice_id: id }, viewer }, reply) =>
      sendProof(reply, 'invoice-proof.json', await openInvoiceProof(deps, viewer.organizationId, id)),
  )
}

function sendProof(reply: FastifyReply, name: string, parts: AsyncIterable<string>): FastifyReply {
  const body = Readable.from(parts)
  reply.raw.once('close', () => body.destroy())
  return reply
    .header('cache-control', 'no-store')
    .header('content-disposition', `attachment; filename="${name}"`)
    .type('application/json; charset=utf-8')
    .send(body)
}
