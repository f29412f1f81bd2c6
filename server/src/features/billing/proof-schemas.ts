import { z } from 'zod'
import { entityId, timestamp } from '../../http/schemas.ts'
import { isWholeHour } from '../metering/hours.ts'

const wholeHour = z.iso
  .datetime()
  .refine((moment) => isWholeHour(new Date(moment)), 'Must be a whole UTC hour.')
  .transform((moment) => new Date(moment))

export const proofQuery = z.object({
  from: wholeHour.meta({
    type: 'string',
    format: 'date-time',
    examples: ['2026-01-01T00:00:00Z'],
    description: 'The first hour',
  }),
  to: wholeHour.meta({
    type: 'string',
    format: 'date-time',
    examples: ['2026-02-01T00:00:00Z'],
    description: 'The hour after the last',
  }),
})

export const invoiceParameters = z.object({ invoice_id: z.string().max(255).describe('The invoice') })

const meter = z.string().describe('What is measured')
const dimensions = z.record(z.string(), z.string()).describe('What the price depends on')
const decimal = (what: string) => z.string().describe(`${what}, an exact decimal`)
const deployment = z.string().describe('The deployment')
const hash = (what: string) => z.string().describe(`SHA-256 of ${what}, in hex`)

const sealedHour = z.object({
  sequence: z.int().describe('Number of the sealed hour in the organization, from 1 without a gap'),
  hour: timestamp.describe('The UTC hour that is billed'),
  deployment_id: deployment,
  meter,
  dimensions,
  quantity: decimal('Units'),
  price: decimal('Price of one unit'),
  amount: decimal('Quantity times price'),
  late_for: timestamp.nullable().describe('The hour of late usage, whose price it has; else null'),
  previous_hash: hash('the sealed hour before; 64 zeros for the first'),
  hash: hash('`previous_hash` and the hour without its hashes in canonical JSON'),
})

const kind = z.enum(['usage', 'invoice']).describe('What the document proves')
const currency = z.string().describe('Currency of the amounts')
const organization = entityId.describe('The organization')
const from = timestamp.describe('The first hour')
const to = timestamp.describe('The hour after the last; at most the end of the sealed hours')
const invoiceOfPeriod = z.object({
  id: z.string().describe('The invoice'),
  period_start: timestamp.describe('Start of the period'),
  period_end: timestamp.describe('End of the period'),
})

const link = z
  .object({
    kind,
    organization_id: organization,
    currency,
    from,
    to,
    invoice: invoiceOfPeriod.nullable().describe('The invoice; null for usage'),
    previous_hash: hash('the sealed hour before the first; 64 zeros for none'),
    hash: hash('`previous_hash` and the link without its hashes in canonical JSON'),
  })
  .describe('The first link of the chain')

const invoicePart = invoiceOfPeriod.extend({
  lines: z
    .array(
      z.object({
        meter,
        dimensions,
        price: decimal('Price of one unit'),
        quantity: decimal('Units that the processor counted'),
        amount: decimal('Amount of the processor, rounded'),
      }),
    )
    .describe('The lines at the payment processor'),
})

export const proofBody = z
  .object({
    version: z.literal(2).describe('Version of the format'),
    kind,
    organization_id: organization,
    currency,
    from,
    to,
    link,
    prices: z
      .array(
        z.object({
          meter,
          dimensions,
          price: decimal('Price of one unit'),
          valid_from: timestamp.describe('The first hour of the price'),
          valid_to: timestamp.nullable().describe('The hour after its last; null without an end'),
        }),
      )
      .describe('The prices of the hours'),
    spans: z
      .array(
        z.object({
          deployment_id: deployment,
          instance_id: z.string().describe('The instance'),
          instance_type: z.string().describe('Type of the instance'),
          region: z.string().describe('Region of the instance'),
          from: timestamp.describe('Start, at or after `from` of the document'),
          to: timestamp.describe('End, at or before `to` of the document'),
        }),
      )
      .describe('Billed time of instances'),
    tokens: z
      .array(
        z.object({
          deployment_id: deployment,
          model_name: z.string().describe('The model'),
          hour: timestamp.describe('The UTC hour of the requests'),
          meter,
          quantity: decimal('Tokens'),
        }),
      )
      .describe('Billed tokens'),
    hours: z.array(sealedHour).describe('The sealed hours, in the order of sealing'),
    lines: z
      .array(
        z.object({
          meter,
          unit: z.string().describe('Unit of the quantity'),
          dimensions,
          quantity: decimal('Sum of the hours'),
          amount: decimal('Sum of the hours'),
        }),
      )
      .describe('The sums of the hours'),
    excluded: z
      .array(z.int())
      .optional()
      .describe('Only for an invoice: numbers of sealed hours that it does not charge'),
    invoice: invoicePart
      .optional()
      .describe('Only for an invoice: the amounts that the payment processor charges'),
    document_hash: hash('the hash of `link` and the document without this field in canonical JSON'),
  })
  .meta({ id: 'UsageProof', description: 'Everything that recomputes a bill; see docs/proof.md' })
