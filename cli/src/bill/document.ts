import { z } from 'zod'

const decimal = z.string().regex(/^(0|[1-9]\d*)(\.\d*[1-9])?$/, 'is not a decimal without trailing zeros')
const moneyAmount = z.string().regex(/^\d+(\.\d+)?$/, 'is not an amount')
const hash = z.string().regex(/^[0-9a-f]{64}$/, 'is not a SHA-256 in hex')
const time = z.iso.datetime({ precision: 3 })
const wholeHour = time.refine((text) => Date.parse(text) % 3_600_000 === 0, 'is not a whole hour')
const sequence = z.int().positive()
const kind = z.enum(['usage', 'invoice'])
const organization = z.int().positive()
const currency = z.string().regex(/^[a-z]{3}$/, 'is not a currency')
const dimensions = z.record(z.string(), z.string())
const units = {
  gpu_instance_seconds: 'second',
  inference_input_tokens: 'token',
  inference_cached_tokens: 'token',
  inference_output_tokens: 'token',
}
const meter = z.enum([
  'gpu_instance_seconds',
  'inference_input_tokens',
  'inference_cached_tokens',
  'inference_output_tokens',
])
const tokenMeter = meter.exclude(['gpu_instance_seconds'])

export type MeterName = z.infer<typeof meter>

/** The unit of each meter. */
export const unitOf: Readonly<Record<MeterName, string>> = units

const price = z.strictObject({
  meter,
  dimensions,
  price: decimal,
  valid_from: wholeHour,
  valid_to: wholeHour.nullable(),
})

const span = z.strictObject({
  deployment_id: z.string(),
  instance_id: z.string(),
  instance_type: z.string(),
  region: z.string(),
  from: time,
  to: time,
})

const tokens = z.strictObject({
  deployment_id: z.string(),
  model_name: z.string(),
  hour: wholeHour,
  meter: tokenMeter,
  quantity: decimal,
})

const sealedHour = z.strictObject({
  sequence,
  hour: wholeHour,
  deployment_id: z.string(),
  meter,
  dimensions,
  quantity: decimal,
  price: decimal,
  amount: decimal,
  late_for: wholeHour.nullable(),
  previous_hash: hash,
  hash,
})

const line = z.strictObject({ meter, unit: z.string(), dimensions, quantity: decimal, amount: decimal })

const invoiceLine = z.strictObject({
  meter,
  dimensions,
  price: decimal,
  quantity: decimal,
  amount: moneyAmount,
})

const invoice = z.strictObject({
  id: z.string(),
  period_start: time,
  period_end: time,
  lines: z.array(invoiceLine),
})

/** The first link of the chain: what the document is about. */
const link = z.strictObject({
  kind,
  organization_id: organization,
  currency,
  from: wholeHour,
  to: wholeHour,
  invoice: invoice.omit({ lines: true }).nullable(),
  previous_hash: hash,
  hash,
})

/** The document of docs/proof.md. */
export const proofDocument = z.strictObject({
  version: z.literal(2),
  kind,
  organization_id: organization,
  currency,
  from: wholeHour,
  to: wholeHour,
  link,
  prices: z.array(price),
  spans: z.array(span),
  tokens: z.array(tokens),
  hours: z.array(sealedHour),
  lines: z.array(line),
  excluded: z.array(sequence).optional(),
  invoice: invoice.optional(),
  document_hash: hash,
})

export type Proof = z.infer<typeof proofDocument>
export type ProofHour = Proof['hours'][number]
export type InvoiceLine = z.infer<typeof invoiceLine>
