import { openPaymentSandbox } from '@berth/payment-sandbox'
import type { PaymentSandbox } from '@berth/payment-sandbox'
import Fastify from 'fastify'
import pg from 'pg'
import { Stripe } from 'stripe'
import { createTestDatabase } from '../../server/test/support/database.ts'
import { openDatabase } from '../src/database.ts'
import type { SandboxDatabase } from '../src/database.ts'
import type { Invoice, ObjectType, ObjectTypes } from '../src/object-types.ts'
import { getObject, listObjects } from '../src/objects.ts'

export const hour = 3_600_000
export const day = 24 * hour
export const returnUrl = 'http://localhost:8080/billing?session={CHECKOUT_SESSION_ID}'

/** Names of the meters that `startTestSandbox` creates, with the price of a unit in cents. */
export const unitPrices = {
  'gpu_instance_seconds.local-cpu.local': '0.001',
  'gpu_instance_seconds.h100.eu-1': '0.123456789',
}
export const [cheap, precise] = Object.keys(unitPrices) as [string, string]

export interface DeliveredEvent {
  body: string
  signature: string
}

export interface TestSandbox {
  sandbox: PaymentSandbox
  db: SandboxDatabase
  /** Stripe's SDK, connected to the sandbox */
  stripe: Stripe
  /** Where the pages are served */
  pagesUrl: string
  now(): Date
  setTime(time: Date): void
  advance(milliseconds: number): void
  /** The events that the webhook received, including those it rejected */
  delivered: DeliveredEvent[]
  /** Whether the webhook accepts events from now on */
  acceptEvents(accepts: boolean): void
  tick(): Promise<void>
  createCustomer(name?: string): Promise<string>
  /** A customer whose default card is the test card `token` */
  createCustomerWithCard(token: string): Promise<{ customerId: string; cardId: string }>
  /** Subscribes the customer to all prices. */
  subscribe(customer: { customerId: string; cardId: string }): Promise<Stripe.Subscription>
  /** Reports usage of the meter `eventName`. */
  use(customerId: string, eventName: string, quantity: number, at?: Date): Promise<void>
  read<T extends ObjectType>(type: T, id: string): Promise<ObjectTypes[T]>
  /** The customer's invoices, newest first, drafts included */
  listInvoices(customerId: string): Promise<Invoice[]>
  /** Types of the events so far, oldest first */
  eventTypes(): Promise<string[]>
  close(): Promise<void>
}

/** A sandbox with a separate database and a clock that the test sets. */
export async function startTestSandbox(): Promise<TestSandbox> {
  const database = await createTestDatabase()
  const pool = new pg.Pool({ connectionString: database.url, max: 20 })
  // Dropping the database may cut a connection that is still closing.
  pool.on('error', () => {})
  const db = openDatabase(pool)
  let now = new Date('2026-11-10T09:30:00Z')
  let accepts = true
  let usages = 0
  const delivered: DeliveredEvent[] = []
  const errors: unknown[] = []
  const sandbox = await openPaymentSandbox({
    pool,
    clock: () => now,
    secretKey: 'a key for tests that is long enough',
    publicUrl: new URL('http://localhost:8080'),
    onEvent: async () => {},
    onError: (error) => errors.push(error),
  })
  const pages = Fastify()
  await pages.register(sandbox.pages)
  const pagesUrl = await pages.listen({ host: '127.0.0.1', port: 0 })
  const httpClient = Stripe.createFetchHttpClient(sandbox.fetch)
  const stripe = new Stripe(sandbox.apiKey, { httpClient, maxNetworkRetries: 0 })

  async function createCustomer(name = 'Acme'): Promise<string> {
    const { id } = await stripe.customers.create()
    await stripe.customers.update(id, { email: 'ada@example.com', name })
    return id
  }

  return {
    sandbox,
    db,
    stripe,
    pagesUrl,
    now: () => now,
    setTime: (time) => {
      now = time
    },
    advance: (milliseconds) => {
      now = new Date(now.getTime() + milliseconds)
    },
    delivered,
    acceptEvents: (accepted) => {
      accepts = accepted
    },
    async tick() {
      await sandbox.tick(async (body, signature) => {
        delivered.push({ body, signature })
        if (!accepts) throw new Error('the webhook is down')
      })
      if (errors.length > 0) throw errors[0]
    },
    createCustomer,
    async createCustomerWithCard(token) {
      const customerId = await createCustomer()
      const { id: cardId } = await stripe.paymentMethods.attach(token, { customer: customerId })
      await stripe.customers.update(customerId, { invoice_settings: { default_payment_method: cardId } })
      return { customerId, cardId }
    },
    async subscribe({ customerId, cardId }) {
      const { data: prices } = await stripe.prices.list({ active: true })
      return stripe.subscriptions.create({
        customer: customerId,
        items: prices.map(({ id }) => ({ price: id })),
        default_payment_method: cardId,
      })
    },
    async use(customerId, eventName, quantity, at = now) {
      usages += 1
      await stripe.billing.meterEvents.create({
        event_name: eventName,
        identifier: `usage-${usages}`,
        timestamp: Math.floor(at.getTime() / 1000),
        payload: { stripe_customer_id: customerId, value: String(quantity) },
      })
    },
    read: (type, id) => getObject(db, type, id),
    listInvoices: (customerId) => listObjects(db, 'invoice', { customer: customerId }),
    async eventTypes() {
      const rows = await db.selectFrom('events').select('type').orderBy('sequence').execute()
      return rows.map(({ type }) => type)
    },
    async close() {
      await pages.close()
      await sandbox.close()
      await pool.end()
      await database.drop()
    },
  }
}

/** Publishes a price for each of `unitPrices`. */
export async function publishPrices({ stripe }: TestSandbox): Promise<void> {
  for (const [name, cents] of Object.entries(unitPrices)) {
    const meter = await stripe.billing.meters.create({
      display_name: name,
      event_name: name,
      default_aggregation: { formula: 'sum' },
    })
    await stripe.products.create({ id: `product-${name}`, name, metadata: { berth_key: name } })
    await stripe.prices.create({
      product: `product-${name}`,
      currency: 'usd',
      unit_amount_decimal: Stripe.Decimal.from(cents),
      recurring: { interval: 'month', usage_type: 'metered', meter: meter.id },
      nickname: `Seconds of ${name}`,
      lookup_key: name,
      transfer_lookup_key: true,
      metadata: { berth_key: name },
    })
  }
}
