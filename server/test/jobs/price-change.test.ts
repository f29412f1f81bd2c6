import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { verifyProof } from '../../../cli/src/bill/verify.ts'
import { compareInvoices } from '../../src/features/billing/reports/compare-invoices.ts'
import { publishSandboxPrices } from '../../src/features/billing/processor/publish-prices.ts'
import { reportUsage } from '../../src/features/billing/reports/report-usage.ts'
import { usageReportChecks } from '../../src/features/billing/reports/usage-report-checks.ts'
import { runUsageChecks } from '../../src/features/metering/anomalies.ts'
import { addHours, floorHour } from '../../src/features/metering/hours.ts'
import { startCharging } from '../../src/features/metering/spans.ts'
import { summarizeUsage } from '../../src/features/metering/summary.ts'
import { verifyIndependently } from '../metering/independent-verifier.ts'
import { registerPostpaid } from '../support/billing.ts'
import { createClient } from '../support/client.ts'
import { createTestClock, hour } from '../support/clock.ts'
import { insertInstanceSpan } from '../support/instance-spans.ts'
import { openSandboxTables } from '../support/sandbox.ts'
import { settleTrusted } from '../support/settle.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const clock = createTestClock()
const priceChange = addHours(floorHour(clock.now()), 5)
let folder: string
let server: TestServer

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'price-change-'))
  const path = join(folder, 'prices.yaml')
  const at = priceChange.toISOString()
  const cpu = 'meter: gpu_instance_seconds, display_name: CPU, currency: usd'
  const tokens = 'display_name: Tokens, unit_amount: "0", currency: usd, valid_from: 2000-01-01T00:00:00Z'
  await writeFile(
    path,
    `prices:
  - { ${cpu}, unit_amount: "0.01", valid_from: 2000-01-01T00:00:00Z, valid_until: ${at} }
  - { ${cpu}, unit_amount: "0.03", valid_from: ${at} }
  - { meter: inference_input_tokens, ${tokens} }
  - { meter: inference_output_tokens, ${tokens} }
`,
  )
  server = await startTestServer({ worker: false, clock: clock.now, settings: { PRICES_FILE: path } })
  await publishSandboxPrices(server.application)
})
afterAll(async () => {
  await server.close()
  await rm(folder, { recursive: true, force: true })
})

interface Organization {
  client: Awaited<ReturnType<typeof registerPostpaid>>['client']
  id: number
  account: any
}

async function createPostpaid(): Promise<Organization> {
  const { client, account } = await registerPostpaid(server.url)
  return { client, id: account.organization_id, account }
}

/** An instance of the organization that was used from `from` to `to`. */
const use = ({ client, id }: Organization, from: Date, to: Date) =>
  insertInstanceSpan(server.application.db, client, id, { from, to })

/** What the workers do in an hour. */
async function work(): Promise<void> {
  await server.application.paymentSandbox!.tick(() => Promise.resolve())
  await settleTrusted(server.application)
  await reportUsage(server.application)
  await compareInvoices(server.application)
}

async function reach(time: Date): Promise<void> {
  clock.advance(time.getTime() - clock.now().getTime())
  await work()
}

/** Sessions expire before the period ends. */
async function signIn({ client: { email, password } }: Organization) {
  const client = createClient(server.url)
  await client.post('/v1/user/signin', { email, password })
  return client
}

async function findAnomalies(organization: Organization) {
  await runUsageChecks(server.application, usageReportChecks(server.application))
  return (await (await signIn(organization)).get('/v1/billing/anomalies')).body
}

/** The amounts of the usage page for the period, and the invoice for it. */
async function readPeriod(organization: Organization) {
  const { id, account } = organization
  const start = new Date(account.current_period_start)
  const period = { start, end: new Date(account.current_period_end), chargedSince: start }
  const { usageTotals } = await summarizeUsage(server.application, id, period)
  const { body: invoices } = await (await signIn(organization)).get('/v1/billing/invoices')
  const invoice = invoices.find(({ period_end: end }: any) => end === account.current_period_end)
  return { invoice, amounts: usageTotals.map(({ estimatedAmount }) => estimatedAmount).toSorted() }
}

async function readProof(organization: Organization) {
  const { invoice } = await readPeriod(organization)
  const client = await signIn(organization)
  return (await client.get(`/v1/billing/invoices/${invoice.processor_invoice_id}/proof`)).body
}

test('usage keeps the price of its time on the invoice, before and after a price change', async () => {
  const before = await createPostpaid()
  const across = await createPostpaid()
  const extra = await createPostpaid()
  await use(before, addHours(priceChange, -2), addHours(priceChange, -1))
  await use(across, addHours(priceChange, -1), addHours(priceChange, 1))
  await use(extra, addHours(priceChange, -1), priceChange)
  for (let after = -1; after <= 2; after++)
    await reach(new Date(priceChange.getTime() + after * hour + hour / 3))
  // Usage that the ledger does not have.
  await openSandboxTables(server.application)
    .insertInto('meter_events')
    .values({
      identifier: 'double',
      event_name: 'gpu_instance_seconds.local-cpu.local.0.01-usd',
      customer_id: extra.account.processor_customer_id,
      at: priceChange,
      value: '10',
    })
    .execute()

  const end = new Date(before.account.current_period_end)
  await reach(end)
  await reach(addHours(end, 0.5))
  // The difference is known while the invoice is a draft.
  const differs = [
    {
      kind: 'invoice_differs',
      message: expect.stringContaining(
        '3600 units of gpu_instance_seconds.local-cpu.local.0.01-usd at 0.01 were used, but 3610 are invoiced',
      ),
    },
  ]
  expect(await findAnomalies(extra)).toMatchObject(differs)
  await reach(addHours(end, 2))
  expect(await findAnomalies(before)).toEqual([])
  expect(await findAnomalies(across)).toEqual([])
  expect(await findAnomalies(extra)).toMatchObject(differs)

  expect(await readPeriod(before)).toMatchObject({ invoice: { amount_due: 3600 }, amounts: ['36'] })
  expect(await readPeriod(across)).toMatchObject({
    invoice: { amount_due: 3600 + 3 * 3600 },
    amounts: ['108', '36'],
  })
  const proof = await readProof(across)
  expect(verifyProof(proof)).toMatchObject({
    difference: null,
    lines: [
      { price: '0.01', amount: '36', processorAmount: '36', difference: '0' },
      { price: '0.03', amount: '108', processorAmount: '108', difference: '0' },
    ],
  })
  verifyIndependently(proof)
  expect(verifyProof(await readProof(extra)).difference).toContain(
    'The invoice has 3610 units of gpu_instance_seconds',
  )
  const stranger = await signIn(before)
  const { invoice } = await readPeriod(across)
  const foreign = await stranger.get(`/v1/billing/invoices/${invoice.processor_invoice_id}/proof`)
  expect(foreign).toMatchObject({ status: 404, body: { code: 'not_found' } })
})

test('usage whose report waits when the period ends is excluded from the invoice, and charged by the next', async () => {
  const organization = await createPostpaid()
  const { processor_customer_id: customer, current_period_end } = organization.account
  const end = new Date(current_period_end)
  await use(organization, addHours(end, -30), addHours(end, -29))
  await use(organization, addHours(end, -3), addHours(end, -2.5))
  await reach(addHours(end, -28.5))
  const { payments } = server.application
  const find = payments.findSubscription.bind(payments)
  // The price is missing in the subscription until later.
  const failing = vi.spyOn(payments, 'findSubscription').mockImplementation(async (id) => {
    const subscription = await find(id)
    return subscription !== null && id === customer ? { ...subscription, prices: [] } : subscription
  })
  for (const after of [-1.5, 0, 0.5, 2]) await reach(addHours(end, after))
  const proof = await readProof(organization)
  expect(proof.excluded).toEqual([2])
  expect(verifyProof(proof)).toMatchObject({ difference: null, lines: [{ quantity: '3600' }] })
  verifyIndependently(proof)

  failing.mockRestore()
  await reach(addHours(end, 2.5))
  const { body: account } = await (await signIn(organization)).get('/v1/billing/account')
  const later = { ...organization, account }
  for (const after of [0, 0.5, 2]) await reach(addHours(new Date(account.current_period_end), after))
  const next = await readProof(later)
  expect(verifyProof(next)).toMatchObject({ difference: null, lines: [{ quantity: '1800' }] })
  verifyIndependently(next)
})

test('an hour without a whole unit belongs to the period of the report before it', async () => {
  const organization = await createPostpaid()
  const end = new Date(organization.account.current_period_end)
  const useSeconds = (hoursBefore: number, seconds: number) => {
    const from = addHours(end, -hoursBefore)
    return use(organization, from, new Date(from.getTime() + seconds * 1000))
  }
  await useSeconds(10, 1.7)
  await useSeconds(2, 3599.5)
  await useSeconds(1, 0.6)
  await reach(addHours(end, -5))
  // Too late for the period: the report of the last hours has a time in the next one.
  await reach(addHours(end, 0.75))
  await reach(addHours(end, 2))
  expect(await findAnomalies(organization)).toEqual([])
  const proof = await readProof(organization)
  expect(verifyProof(proof)).toMatchObject({
    difference: null,
    lines: [{ quantity: '1.7', processorQuantity: '1' }],
  })
  verifyIndependently(proof)
})

test('usage that was sealed before the activation was recorded is on no invoice', async () => {
  const organization = await createPostpaid()
  const { id, account } = organization
  const start = new Date(account.current_period_start)
  const end = new Date(account.current_period_end)
  // The activation was recorded two hours late.
  const { db } = server.application
  const recorded = addHours(floorHour(start), 2)
  await db.transaction().execute((transaction) => startCharging(transaction, id, recorded))
  await db
    .updateTable('billing_accounts')
    .set({ postpaid_since: recorded })
    .where('organization_id', '=', id)
    .execute()
  await use(organization, addHours(floorHour(start), 1), addHours(floorHour(start), 3))
  await reach(addHours(floorHour(start), 4))
  await reach(addHours(end, 0.45))
  await reach(addHours(end, 2))
  const proof = await readProof(organization)
  expect(proof.excluded).toEqual([1])
  expect(verifyProof(proof)).toMatchObject({
    difference: null,
    lines: [{ quantity: '3600', processorQuantity: '3600' }],
  })
  verifyIndependently(proof)
})

test('a price that the subscription lacks is not reported before the subscription has it', async () => {
  const organization = await createPostpaid()
  const { account } = organization
  // Until the next publication, the subscription has only the current price.
  const started = addHours(floorHour(clock.now()), -1)
  await server.application.db
    .insertInto('usage_reports')
    .values({
      organization_id: organization.id,
      price_key: 'gpu_instance_seconds.new.local.1-usd',
      hour: started,
      identifier: 'too early',
      customer_id: account.processor_customer_id,
      quantity: 60,
      at: started,
      status: 'unknown',
      attempts: 0,
      first_attempt_at: clock.now(),
      last_attempt_at: addHours(clock.now(), -1),
    })
    .execute()
  const readReport = () =>
    server.application.db
      .selectFrom('usage_reports')
      .select(['status', 'at'])
      .where('identifier', '=', 'too early')
      .executeTakeFirstOrThrow()
  await reportUsage(server.application)
  expect(await readReport()).toMatchObject({ status: 'unknown' })
  clock.advance(2 * hour)
  const published = clock.now()
  await server.application.payments.publishPrices([
    {
      key: 'gpu_instance_seconds.new.local.1-usd',
      displayName: 'New',
      unitAmountDecimal: '1',
      currency: 'usd',
    },
  ])
  await reportUsage(server.application)
  const report = await readReport()
  expect(report.status).toBe('sent')
  // The processor counts usage from the time at which the subscription got the price.
  expect(report.at.getTime()).toBeGreaterThanOrEqual(Math.floor(published.getTime() / 1000) * 1000)
})
