import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { publishSandboxPrices } from '../../../../src/features/billing/processor/publish-prices.ts'
import { activate } from '../../../support/billing.ts'
import { createClient, registerClient } from '../../../support/client.ts'
import { createTestClock, day, hour } from '../../../support/clock.ts'
import { localPriceKey } from '../../../support/sealed-usage.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const clock = createTestClock()
let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ worker: false, clock: clock.now })
  await publishSandboxPrices(server.application)
})
afterAll(() => server.close())

/** Advances the sandbox without delivering its webhooks. */
const tick = () => server.application.paymentSandbox!.tick(() => Promise.reject(new Error('unreachable')))

test('GET /v1/billing/invoices: empty before the first subscription, with and without a customer', async () => {
  const client = await registerClient(server.url)
  expect(await client.get('/v1/billing/invoices')).toMatchObject({ status: 200, body: [] })
  await client.post('/v1/billing/portal/session', {})
  expect((await client.get('/v1/billing/invoices')).body).toEqual([])
})

test('GET /v1/billing/invoices: newest first, without drafts and invoices of zero; an invoice that is sent has a due date', async () => {
  const account = await registerClient(server.url)
  const { body: activated } = await activate(server.url, account)
  const used = {
    priceKey: localPriceKey,
    customerId: (await account.get('/v1/billing/account')).body.processor_customer_id,
    identifier: 'some usage',
    at: clock.now(),
    quantity: 1_000_000,
  }
  await server.application.payments.sendUsage(used)
  await account.patch('/v1/billing/subscription/collection-method', { collection_method: 'send_invoice' })
  expect((await account.get('/v1/billing/invoices')).body).toEqual([])
  clock.advance(Date.parse(activated.current_period_end) - clock.now().getTime() + 60_000)
  await tick()
  const client = createClient(server.url)
  await client.post('/v1/user/signin', { email: account.email, password: account.password })
  expect((await client.get('/v1/billing/invoices')).body).toEqual([])
  clock.advance(2 * hour)
  await tick()
  const { body } = await client.get('/v1/billing/invoices')
  expect(body).toHaveLength(1)
  const [sent] = body
  expect(sent).toMatchObject({
    status: 'open',
    collection_method: 'send_invoice',
    amount_due: 1000,
    amount_paid: 0,
    currency: 'usd',
    period_start: activated.current_period_start,
    period_end: activated.current_period_end,
  })
  const days = (Date.parse(sent.due_date) - clock.now().getTime()) / day
  expect(days).toBeGreaterThan(29)
  expect(days).toBeLessThan(31)
  const stranger = await registerClient(server.url)
  expect((await stranger.get('/v1/billing/invoices')).body).toEqual([])
})

test('an unreachable processor is a 503 with Retry-After and without internal details', async () => {
  const client = await registerClient(server.url)
  await client.post('/v1/billing/portal/session', {})
  vi.spyOn(server.application.payments, 'listInvoices').mockRejectedValueOnce(
    new Error('secret.host refused'),
  )
  const answer = await client.get('/v1/billing/invoices')
  expect(answer).toMatchObject({ status: 503, body: { code: 'payment_processor_unavailable' } })
  expect(answer.headers.get('retry-after')).toBe('5')
  expect(JSON.stringify(answer.body)).not.toContain('secret.host')
})
