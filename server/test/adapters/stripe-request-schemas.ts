import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Ajv } from 'ajv'
import qs from 'qs'
import { createGenerator } from 'ts-json-schema-generator'

/** Every Stripe operation that Berth calls, with the SDK's parameter type. */
const operations: Record<string, string> = {
  'POST /v1/customers': 'CustomerCreateParams',
  'GET /v1/customers/:id': 'CustomerRetrieveParams',
  'POST /v1/customers/:id': 'CustomerUpdateParams',
  'GET /v1/customers/:id/payment_methods': 'CustomerListPaymentMethodsParams',
  'GET /v1/customers/:id/payment_methods/:id': 'CustomerRetrievePaymentMethodParams',
  'GET /v1/payment_methods/:id': 'PaymentMethodRetrieveParams',
  'POST /v1/payment_methods/:id/detach': 'PaymentMethodDetachParams',
  'POST /v1/checkout/sessions': 'Checkout.SessionCreateParams',
  'POST /v1/billing_portal/sessions': 'BillingPortal.SessionCreateParams',
  'GET /v1/products/:id': 'ProductRetrieveParams',
  'POST /v1/products': 'ProductCreateParams',
  'GET /v1/prices': 'PriceListParams',
  'POST /v1/prices': 'PriceCreateParams',
  'POST /v1/prices/:id': 'PriceUpdateParams',
  'GET /v1/subscriptions': 'SubscriptionListParams',
  'POST /v1/subscriptions': 'SubscriptionCreateParams',
  'POST /v1/subscriptions/:id': 'SubscriptionUpdateParams',
  'DELETE /v1/subscriptions/:id': 'SubscriptionCancelParams',
  'GET /v1/invoices': 'InvoiceListParams',
  'GET /v1/invoices/:id': 'InvoiceRetrieveParams',
  'GET /v1/invoices/:id/lines': 'InvoiceListLineItemsParams',
  'GET /v1/checkout/sessions/:id': 'Checkout.SessionRetrieveParams',
  'GET /v1/events': 'EventListParams',
  'GET /v1/billing/meters': 'Billing.MeterListParams',
  'POST /v1/billing/meters': 'Billing.MeterCreateParams',
  'GET /v1/billing/meters/:id/event_summaries': 'Billing.MeterListEventSummariesParams',
  'POST /v1/billing/meter_events': 'Billing.MeterEventCreateParams',
}

export const operationNames = Object.keys(operations)

export interface RecordedCall {
  method: string
  /** Includes the query */
  path: string
  body: string
  idempotencyKey: string | null
}

export interface RequestSchemas {
  /** The operation of a call; throws for an unlisted one */
  nameOf(call: RecordedCall): string
  /** Validation errors of a call against the SDK's types */
  problemsOf(call: RecordedCall): string[]
}

/**
 * Generates request schemas from the types of the installed SDK. The SDK's enums also accept any string;
 * these schemas accept only the listed values.
 */
export async function generateRequestSchemas(): Promise<RequestSchemas> {
  const types = fileURLToPath(import.meta.resolve('stripe')).replace(/\.js$/, '')
  const directory = await mkdtemp(join(tmpdir(), 'stripe-types-'))
  const path = join(directory, 'requests.ts')
  const fields = Object.entries(operations).map(([name, type]) => `${JSON.stringify(name)}: Stripe.${type}`)
  await writeFile(
    path,
    `import type { Stripe } from ${JSON.stringify(`${types}.js`)}\nexport interface Requests {\n${fields.join('\n')}\n}\n`,
  )
  try {
    const schema = createGenerator({
      path,
      type: 'Requests',
      expose: 'none',
      jsDoc: 'none',
      topRef: false,
      skipTypeCheck: true,
      additionalProperties: false,
      encodeRefs: false,
    }).createSchema('Requests')
    const ajv = new Ajv({ coerceTypes: true, strict: false, allErrors: true })
    const validators = new Map(
      Object.entries(schema.properties ?? {}).map(([name, part]) => [
        name,
        ajv.compile(close(part) as object),
      ]),
    )
    return { nameOf, problemsOf }

    function problemsOf(call: RecordedCall): string[] {
      const validate = validators.get(nameOf(call))
      if (validate === undefined) throw new Error(`${nameOf(call)} has no schema`)
      const query = call.path.split('?')[1] ?? ''
      validate(qs.parse(call.method === 'POST' ? call.body : query, { depth: 10, arrayLimit: 100 }))
      return (validate.errors ?? []).map(
        ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
      )
    }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

function nameOf({ method, path }: RecordedCall): string {
  const given = `${method} ${path.split('?')[0]}`
  const name = operationNames.find((pattern) =>
    new RegExp(`^${pattern.replaceAll(':id', '(?!search$)[^/]+')}$`).test(given),
  )
  if (name === undefined) throw new Error(`${given} is missing from the list of operations`)
  return name
}

/** Removes `string` from open enums and accepts decimals as text, which is their form encoding. */
function close(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(close)
  if (typeof part !== 'object' || part === null) return part
  const schema = part as Record<string, unknown>
  const properties = Object.keys(schema.properties ?? {})
  if (properties.some((name) => name.startsWith('__@___stripeType'))) {
    return { type: 'string', pattern: '^-?\\d+(\\.\\d+)?$' }
  }
  const entries = Object.entries(schema).map(([key, value]): [string, unknown] => [key, close(value)])
  const closed = Object.fromEntries(entries)
  if (!Array.isArray(closed.anyOf)) return closed
  const alternatives = closed.anyOf as Record<string, unknown>[]
  const lists = alternatives.some(
    ({ enum: values, const: value }) => values !== undefined || value !== undefined,
  )
  const isOpen = (each: Record<string, unknown>) => each.type === 'string' && Object.keys(each).length === 1
  return lists ? { ...closed, anyOf: alternatives.filter((each) => !isOpen(each)) } : closed
}
