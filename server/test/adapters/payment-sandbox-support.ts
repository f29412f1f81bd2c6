import type { AddressInfo } from 'node:net'
import Fastify from 'fastify'
import { Stripe } from 'stripe'
import { createSandbox } from '../../src/adapters/payment-processor/sandbox/sandbox.ts'
import type { PaymentSandbox } from '../../src/adapters/payment-processor/sandbox/sandbox.ts'
import { connectDatabase } from '../../src/database/connect.ts'
import { migrateDatabase } from '../../src/database/migrate.ts'
import type { Database } from '../../src/database/tables.ts'
import type { MeteredPrice, PaymentProcessor } from '../../src/ports/payment-processor.ts'
import { createTestDatabase } from '../support/database.ts'

export const hour = 3_600_000
export const day = 24 * hour
export const returnUrl = 'http://localhost:8080/billing?session={CHECKOUT_SESSION_ID}'

export const prices: MeteredPrice[] = [
  {
    key: 'gpu_instance_seconds.local-cpu.local',
    displayName: 'Local CPU, seconds',
    unitAmountDecimal: '0.00001',
    currency: 'usd',
  },
  {
    key: 'gpu_instance_seconds.h100.eu-1',
    displayName: 'H100, seconds',
    unitAmountDecimal: '0.00123456789',
    currency: 'usd',
  },
]

export interface Posted {
  body: string
  signature: string
}

export interface TestSandbox {
  sandbox: PaymentSandbox
  payments: PaymentProcessor
  db: Database
  /** Stripe's SDK, connected to the sandbox over HTTP on the loopback interface */
  stripe: Stripe
  url: string
  /** Where the pages are served */
  pagesUrl: string
  now(): Date
  setTime(time: Date): void
  advance(milliseconds: number): void
  /** What the webhook received so far */
  posted: Posted[]
  /** What the webhook answers from now on */
  answerWebhook(status: number): void
  /** One run of the clock's job */
  tick(): Promise<void>
  /** A customer with a card from `token`, the default one */
  createCustomerWithCard(token: string): Promise<{ customerId: string; cardId: string }>
  /** Types of the events so far, oldest first */
  eventTypes(): Promise<string[]>
  close(): Promise<void>
}

/** A sandbox on a database of its own, whose clock a test turns. */
export async function startTestSandbox(): Promise<TestSandbox> {
  const database = await createTestDatabase()
  const connection = connectDatabase(database.url, 20, () => {})
  await migrateDatabase(connection.db)
  let now = new Date('2026-11-10T09:30:00Z')
  let webhookStatus = 200
  const posted: Posted[] = []
  const problems: unknown[] = []
  const sandbox = createSandbox({
    db: connection.db,
    clock: () => now,
    secretKey: 'a key for tests that is long enough',
    publicUrl: new URL('http://localhost:8080'),
    installation: 'test',
    enqueueDelivery: async () => {},
    onError: (error) => problems.push(error),
  })
  await sandbox.api.listen({ host: '127.0.0.1', port: 0 })
  const { port } = sandbox.api.server.address() as AddressInfo
  const pages = Fastify()
  await pages.register(sandbox.pages, { prefix: sandbox.path })
  await pages.listen({ host: '127.0.0.1', port: 0 })
  const pagesPort = (pages.server.address() as AddressInfo).port
  const stripe = new Stripe(sandbox.apiKey, {
    host: '127.0.0.1',
    port,
    protocol: 'http',
    maxNetworkRetries: 0,
  })
  let organizations = 0
  return {
    sandbox,
    payments: sandbox.processor,
    db: connection.db,
    stripe,
    url: `http://127.0.0.1:${port}`,
    pagesUrl: `http://127.0.0.1:${pagesPort}`,
    now: () => now,
    setTime: (time) => {
      now = time
    },
    advance: (milliseconds) => {
      now = new Date(now.getTime() + milliseconds)
    },
    posted,
    answerWebhook: (status) => {
      webhookStatus = status
    },
    async tick() {
      await sandbox.tick(async (body, signature) => {
        posted.push({ body, signature })
        return webhookStatus
      })
      if (problems.length > 0) throw problems[0]
    },
    async createCustomerWithCard(token) {
      organizations += 1
      const customerId = await sandbox.processor.createCustomer({
        organizationId: organizations,
        email: `owner${organizations}@example.com`,
        name: `Organization ${organizations}`,
      })
      const { id: cardId } = await stripe.paymentMethods.attach(token, { customer: customerId })
      await sandbox.processor.setDefaultCard(customerId, null, cardId)
      return { customerId, cardId }
    },
    async eventTypes() {
      const rows = await connection.db
        .selectFrom('sandbox_events')
        .select('type')
        .orderBy('sequence')
        .execute()
      return rows.map(({ type }) => type)
    },
    async close() {
      await pages.close()
      await sandbox.processor.close()
      await connection.close()
      await database.drop()
    },
  }
}

/** Subscribes a customer to all prices. */
export async function subscribe(
  { payments }: TestSandbox,
  { customerId, cardId }: { customerId: string; cardId: string },
  idempotencyKey = `subscribe-${customerId}`,
) {
  const result = await payments.createSubscription({ customerId, organizationId: 1, cardId, idempotencyKey })
  if (result.outcome === 'failed') throw result.error
  if (result.outcome !== 'created') throw new Error(`the card was refused: ${result.message}`)
  return result.subscription
}
