import { Decimal } from 'decimal.js'
import { sql } from 'kysely'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { JobName } from '../../src/jobs/queue.ts'
import {
  activate,
  cardNumbers,
  checkoutPath,
  enterCard,
  payInvoice,
  waitForAccount,
} from '../support/billing.ts'
import { createClient, registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { createTestClock, day, hour } from '../support/clock.ts'
import { deploy, waitForStatus } from '../support/deployments.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

type Account = Client & { email: string; password: string }

const clock = createTestClock()
const runtime = createScriptedRuntime()
runtime.answer({
  provision: ({ deploymentId, instanceType }) => ({
    outcome: 'provisioned',
    instance: {
      instanceId: deploymentId,
      clusterId: 'test-cluster',
      gpuAllocationId: deploymentId,
      instanceType,
      region: 'test-region',
      startedAt: clock.now(),
    },
  }),
})

let server: TestServer
beforeEach(async () => {
  server = await startTestServer({
    clock: clock.now,
    runtime,
    settings: { BILLING_TRIAL_MAX_ACTIVE: '2', BILLING_TRIAL_CREDIT: '1000000' },
  })
  // A settlement of the schedule before the clock jumps by weeks would let the next ones seal no hours.
  await sql`DELETE FROM pgboss.schedule`.execute(server.application.db)
})
afterEach(() => server.close())

const requestDeployment = (client: Client) =>
  client.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })

/** Runs a scheduled job now. */
const runTask = (task: 'settle-usage' | 'report-usage' | 'advance-sandbox') =>
  server.application.jobs.enqueue(server.application.db, task, null)

async function signIn({ email, password }: Account): Promise<Client> {
  const client = createClient(server.url)
  expect((await client.post('/v1/user/signin', { email, password })).status).toBe(200)
  return client
}

/** Advances the clock, then settles and reports usage and advances the sandbox. */
async function elapse(milliseconds: number): Promise<void> {
  clock.advance(milliseconds)
  for (const task of ['settle-usage', 'report-usage', 'advance-sandbox'] as const) {
    await runTask(task)
    await vi.waitFor(async () => expect(await countJobs(task)).toBe(0), { timeout: 20_000, interval: 50 })
  }
}

async function countJobs(task: JobName): Promise<number> {
  const { rows } = await sql<{ count: number }>`SELECT count(*) AS count FROM pgboss.job WHERE name = ${task}
    AND state IN ('created', 'retry', 'active') AND start_after <= now()`.execute(server.application.db)
  return rows[0]!.count
}

const findInvoice = (client: Client, status: string) =>
  vi.waitFor(
    async () => {
      const { body } = await client.get('/v1/billing/invoices')
      const found = body.find((invoice: any) => invoice.status === status && invoice.amount_due > 0)
      expect(found, JSON.stringify(body)).toBeDefined()
      return found
    },
    { timeout: 20_000, interval: 100 },
  )

test(
  'trial, limit, card, subscription, more deployments, usage, invoice, paid',
  { timeout: 120_000 },
  async () => {
    const account = await registerClient(server.url)
    const { id: first } = await deploy(account)
    const { id: second } = await deploy(account)
    expect(await requestDeployment(account)).toMatchObject({
      status: 409,
      body: { code: 'resource_limit_reached' },
    })

    const setup = await account.post('/v1/billing/checkout/setup-session', { purpose: 'postpaid_activation' })
    expect((await enterCard(server.url, checkoutPath(setup.body), cardNumbers.works)).status).toBe(303)
    const {
      body: [card],
    } = await account.get('/v1/billing/payment-methods')
    const activated = await account.post('/v1/billing/subscription/activate-postpaid', {
      processor_payment_method_id: card.id,
    })
    expect(activated).toMatchObject({ status: 200, body: { subscription_status: 'active' } })
    const activatedAt = new Date(activated.body.current_period_start)
    const { id: third } = await deploy(account)

    await elapse(2 * hour)
    const { body: usage } = await account.get('/v1/billing/usage-summary')
    expect(usage).toMatchObject({ period_end: expect.any(String), open_anomalies: 0 })
    const [total] = usage.usage_totals
    expect(total).toMatchObject({
      meter: 'gpu_instance_seconds',
      unit: 'second',
      service_key: expect.any(String),
      display_name: expect.any(String),
      dimensions: { instance_type: expect.any(String), region: 'test-region' },
      unit_amount_currency: 'usd',
      estimated_amount_currency: 'usd',
    })
    expect(Number(total.total_quantity)).toBeGreaterThanOrEqual(3 * 7200)
    for (const id of [first, second, third]) {
      await account.delete(`/api/v1/model-deployments/${id}`)
      await waitForStatus(account, id, 'terminated')
    }

    await elapse(3 * day)
    clock.advance(Date.parse(activated.body.current_period_end) - clock.now().getTime() - 2 * hour)
    await elapse(0)
    const client = await signIn(account)
    // Past the end of the period and the hour in which the invoice is a draft.
    await elapse(2 * hour + 60_000)
    await elapse(hour)
    await elapse(hour)
    const invoice = await findInvoice(client, 'paid')
    const { organization_id: organizationId } = (await client.get('/v1/billing/account')).body
    const reports = await server.application.db
      .selectFrom('usage_reports')
      .selectAll()
      .where('organization_id', '=', organizationId)
      .execute()
    const units = reports
      .filter(({ at }) => at < new Date(invoice.period_end))
      .reduce((sum, { quantity }) => sum + quantity, 0)
    expect(reports.every(({ status }) => status === 'sent')).toBe(true)
    expect(reports.every(({ at }) => at >= activatedAt)).toBe(true)
    expect(invoice).toEqual({
      processor_invoice_id: expect.stringMatching(/^in_/),
      status: 'paid',
      collection_method: 'charge_automatically',
      amount_due: new Decimal(total.unit_amount_decimal).times(units).times(100).round().toNumber(),
      amount_paid: invoice.amount_due,
      currency: 'usd',
      hosted_invoice_url: expect.stringMatching(/^http/),
      invoice_pdf: expect.stringMatching(/^http/),
      due_date: null,
      period_start: activated.body.current_period_start,
      period_end: activated.body.current_period_end,
      created: expect.any(String),
    })
    for (const url of [invoice.hosted_invoice_url, invoice.invoice_pdf]) {
      expect((await createClient(server.url).get(new URL(url).pathname)).status).toBe(200)
    }
    const { body: invoices } = await client.get('/v1/billing/invoices')
    expect(invoices[0].processor_invoice_id).toBe(invoice.processor_invoice_id)
    const renewed = await waitForAccount(client, { current_period_start: activated.body.current_period_end })
    expect(renewed).toMatchObject({ status: 'active', subscription_status: 'active' })
  },
)

test(
  'the card fails at the invoice: past_due, 409, paid on the invoice page, active again',
  { timeout: 120_000 },
  async () => {
    const account = await registerClient(server.url)
    const { status, body: activated } = await activate(server.url, account, cardNumbers.failsAtInvoice)
    expect(status).toBe(200)
    clock.advance(Date.parse(activated.current_period_end) - clock.now().getTime() - 4 * hour)
    const client = await signIn(account)
    const { id: running } = await deploy(client)
    await elapse(3 * hour)
    await elapse(hour + 60_000)
    await elapse(hour)
    await waitForAccount(client, {
      status: 'past_due',
      subscription_status: 'past_due',
      billing_mode: 'postpaid',
    })
    expect(await requestDeployment(client)).toMatchObject({ status: 409, body: { code: 'payment_past_due' } })
    expect((await client.get(`/api/v1/model-deployments/${running}`)).body.status).toBe('running')
    const open = await findInvoice(client, 'open')
    expect(open.amount_paid).toBe(0)
    expect((await payInvoice(server.url, open, cardNumbers.works)).status).toBe(303)
    await waitForAccount(client, { status: 'active', subscription_status: 'active' })
    expect(await findInvoice(client, 'paid')).toMatchObject({
      processor_invoice_id: open.processor_invoice_id,
      amount_paid: open.amount_due,
    })
    expect((await requestDeployment(client)).status).toBe(201)
  },
)
