import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { usageReportChecks } from '../../src/features/billing/reports/usage-report-checks.ts'
import { publishSandboxPrices } from '../../src/features/billing/processor/publish-prices.ts'
import { reportUsage } from '../../src/features/billing/reports/report-usage.ts'
import { toEventIdentifier } from '../../src/features/billing/reports/usage-report-plan.ts'
import { runUsageChecks } from '../../src/features/metering/anomalies.ts'
import { addHours, floorHour } from '../../src/features/metering/hours.ts'
import type { PaymentProcessor, UsageEvent } from '../../src/ports/payment-processor.ts'
import { activate, registerPostpaid } from '../support/billing.ts'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { createTestClock, day, hour } from '../support/clock.ts'
import { callSandbox, openSandboxTables } from '../support/sandbox.ts'
import { localPriceKey, writeSealedSeconds } from '../support/sealed-usage.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const clock = createTestClock()
let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ worker: false, clock: clock.now })
  await publishSandboxPrices(server.application)
})
afterAll(() => server.close())

interface Organization {
  client: Client
  id: number
  customerId: string
  deploymentId: string
  /** The hour in which it was activated */
  since: Date
}

async function createPostpaid(): Promise<Organization> {
  const { client, account } = await registerPostpaid(server.url)
  const { body } = await client.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })
  const since = floorHour(new Date(account.current_period_start))
  return {
    client,
    id: account.organization_id,
    customerId: account.processor_customer_id,
    deploymentId: body.id,
    since,
  }
}

/** Writes a sealed bucket `after` hours from the activation, advancing the clock past that hour. */
async function seal(
  organization: Organization,
  after: number,
  quantity: string,
  priceKey = localPriceKey,
): Promise<void> {
  const { id, deploymentId, since } = organization
  const sealedAt = since.getTime() + (after + 2) * hour
  clock.advance(Math.max(0, sealedAt - clock.now().getTime()))
  await writeSealedSeconds(server.application.db, {
    organizationId: id,
    deploymentId,
    hour: addHours(since, after),
    quantity,
    priceKey,
    sealedAt: clock.now(),
  })
}

/** The meter events that the sandbox has counted. */
async function listMeterEvents({ customerId }: Organization) {
  const rows = await openSandboxTables(server.application)
    .selectFrom('meter_events')
    .selectAll()
    .where('customer_id', '=', customerId)
    .orderBy('at')
    .execute()
  return rows.map(({ identifier, value, at }) => ({ identifier, value: Number(value), at }))
}

const listReports = ({ id }: Organization) =>
  server.application.db
    .selectFrom('usage_reports')
    .selectAll()
    .where('organization_id', '=', id)
    .orderBy('hour')
    .execute()

/** Reports usage with some methods of the processor replaced; returns the events that were sent. */
async function runReport(changes: Partial<PaymentProcessor> = {}): Promise<UsageEvent[]> {
  const { payments } = server.application
  const sent: UsageEvent[] = []
  const replaced = { ...payments, ...changes }
  const watched: PaymentProcessor = {
    ...replaced,
    async sendUsage(event) {
      sent.push(event)
      await replaced.sendUsage(event)
    },
  }
  await reportUsage({ ...server.application, payments: watched })
  return sent
}

/** The request reaches the processor, but the response is lost. */
const responseLost: Partial<PaymentProcessor> = {
  async sendUsage(event) {
    await server.application.payments.sendUsage(event)
    throw new Error('the response was lost')
  },
}
const requestLost: Partial<PaymentProcessor> = {
  sendUsage: () => Promise.reject(new Error('the request was lost')),
}

describe('sealed hours', () => {
  test('each hour is reported once, in whole units without losing any, at the end of the hour', async () => {
    const organization = await createPostpaid()
    for (const [after, quantity] of ['1800.4', '0.3', '0.2', '3599.9'].entries()) {
      await seal(organization, after, quantity)
    }
    await runReport()
    const name = (after: number) =>
      toEventIdentifier(organization.customerId, localPriceKey, addHours(organization.since, after))
    const at = (after: number) => new Date(organization.since.getTime() + (after + 1) * hour - 1000)
    // Running totals 1800.4, 1800.7, 1800.9 and 5400.8: only whole units are reported.
    expect(await listMeterEvents(organization)).toEqual([
      { identifier: name(0), value: 1800, at: at(0) },
      { identifier: name(3), value: 3600, at: at(3) },
    ])
    expect((await runReport()).filter(({ customerId }) => customerId === organization.customerId)).toEqual([])
    await seal(organization, 4, '0.2')
    await runReport()
    expect((await listMeterEvents(organization)).at(-1)).toMatchObject({ identifier: name(4), value: 1 })
  })

  test('hours before the activation and trial usage are not reported', async () => {
    const organization = await createPostpaid()
    await seal(organization, -1, '3600')
    await seal(organization, 0, '60')
    await runReport()
    expect(await listMeterEvents(organization)).toMatchObject([{ value: 60 }])
    const trial = await registerClient(server.url)
    const { body } = await trial.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })
    const { body: account } = await trial.get('/v1/billing/account')
    const id = account.organization_id
    const fake = { client: trial, id, customerId: '', deploymentId: body.id, since: organization.since }
    await seal(fake, 1, '3600')
    await runReport()
    expect(await listReports(fake)).toEqual([])
  })

  test('a price key may have the processor’s maximum length', async () => {
    const longest = 'm'.repeat(100)
    const price = {
      key: longest,
      displayName: 'Long',
      unitAmountDecimal: '0.001',
      currency: 'usd',
    }
    await server.application.payments.publishPrices([price])
    const organization = await createPostpaid()
    await publishSandboxPrices(server.application)
    await seal(organization, 0, '9', longest)
    await runReport()
    expect(await listReports(organization)).toMatchObject([{ status: 'sent', price_key: longest }])
    expect(await listMeterEvents(organization)).toMatchObject([{ value: 9 }])
  })

  test('reported hours are not read again, and fractions of a unit carry over across weeks', async () => {
    const organization = await createPostpaid()
    await seal(organization, 0, '0.4')
    await seal(organization, 300, '0.4')
    await seal(organization, 301, '0.1')
    await runReport()
    const { db } = server.application
    const readPosition = () =>
      db
        .selectFrom('billing_accounts')
        .select(['usage_reported_through', 'usage_remainders'])
        .where('organization_id', '=', organization.id)
        .executeTakeFirst()
    expect(await readPosition()).toEqual({
      usage_reported_through: addHours(organization.since, 302),
      usage_remainders: { [localPriceKey]: 900 },
    })
    // Hours before the cursor are ignored.
    await seal(organization, 299, '50')
    await seal(organization, 302, '0.1')
    expect(await runReport()).toMatchObject([{ quantity: 1 }])
    expect(await readPosition()).toMatchObject({ usage_remainders: { [localPriceKey]: 0 } })
  })

  test('concurrent processes report each hour once', async () => {
    const organization = await createPostpaid()
    for (const after of [0, 1, 2, 3]) await seal(organization, after, '100')
    const sent = await Promise.all([runReport(), runReport(), runReport()])
    const own = sent.flat().filter(({ customerId }) => customerId === organization.customerId)
    expect(own).toHaveLength(4)
    expect(await listMeterEvents(organization)).toHaveLength(4)
  })
})

describe('when the processor fails', () => {
  test.each([
    ['the request is lost', requestLost],
    ['the response is lost', responseLost],
  ])('%s: unknown, retried with the same identifier, counted once', async (_, fault) => {
    const organization = await createPostpaid()
    await seal(organization, 0, '100')
    const [first] = await runReport(fault)
    expect(await listReports(organization)).toMatchObject([
      { status: 'unknown', last_error: expect.any(String) },
    ])
    expect(await runReport()).toEqual([])
    clock.advance(3 * 60_000)
    const [second] = await runReport()
    expect(second!.identifier).toBe(first!.identifier)
    expect(await listReports(organization)).toMatchObject([{ status: 'sent', attempts: 2, last_error: null }])
    expect(await listMeterEvents(organization)).toMatchObject([{ value: 100 }])
  })

  test('a process crashes while sending: the report stays pending and is retried', async () => {
    const organization = await createPostpaid()
    await seal(organization, 0, '100')
    await runReport(responseLost)
    await server.application.db
      .updateTable('usage_reports')
      .set({ status: 'pending', last_error: null })
      .where('organization_id', '=', organization.id)
      .execute()
    clock.advance(3 * 60_000)
    await runReport()
    expect(await listReports(organization)).toMatchObject([{ status: 'sent' }])
    expect(await listMeterEvents(organization)).toMatchObject([{ value: 100 }])
  })

  test('a retry uses the stored identifier, even if the scheme of identifiers has changed', async () => {
    const organization = await createPostpaid()
    await seal(organization, 0, '100')
    await runReport(requestLost)
    const identifier = `${organization.id}:of an older version`
    await server.application.db
      .updateTable('usage_reports')
      .set({ identifier })
      .where('organization_id', '=', organization.id)
      .execute()
    clock.advance(3 * 60_000)
    await runReport()
    expect(await listMeterEvents(organization)).toMatchObject([{ identifier, value: 100 }])
  })

  test.each([
    ['arrived', responseLost, 0],
    ['was lost', requestLost, 1],
  ])('an unconfirmed report is reconciled after a day: it %s', async (_, fault, sentAgain) => {
    const organization = await createPostpaid()
    await seal(organization, 0, '70')
    await runReport()
    await seal(organization, 1, '30')
    await runReport(fault)
    clock.advance(23.5 * hour)
    expect(await runReport()).toEqual([])
    clock.advance(hour)
    expect(await runReport()).toHaveLength(sentAgain)
    expect(await listReports(organization)).toMatchObject([{ status: 'sent' }, { status: 'sent' }])
    expect((await listMeterEvents(organization)).map(({ value }) => value)).toEqual([70, 30])
  })

  test('reports are reconciled only half an hour after the last attempt, because the processor counts with a delay', async () => {
    const organization = await createPostpaid()
    await seal(organization, 0, '50')
    await runReport(responseLost)
    clock.advance(day)
    await seal(organization, 24, '50')
    // The total includes the first hour, but not yet the second.
    const late: Partial<PaymentProcessor> = { countUsage: async () => 50 }
    expect(await runReport(late)).toMatchObject([{ quantity: 50 }])
    expect(await listReports(organization)).toMatchObject([{ status: 'unknown' }, { status: 'sent' }])
    clock.advance(hour / 2)
    expect(await runReport()).toEqual([])
    expect(await listReports(organization)).toMatchObject([{ status: 'sent' }, { status: 'sent' }])
    expect((await listMeterEvents(organization)).map(({ value }) => value)).toEqual([50, 50])
  })

  test('reconciling is postponed when another process reports usage in the meantime', async () => {
    const organization = await createPostpaid()
    await seal(organization, 0, '50')
    await runReport(responseLost)
    clock.advance(day)
    const { payments } = server.application
    const sent = await runReport({
      async countUsage(...query) {
        const counted = await payments.countUsage(...query)
        await seal(organization, 24, '50')
        await runReport()
        return counted
      },
    })
    expect(sent).toEqual([])
    expect(await listReports(organization)).toMatchObject([{ status: 'unknown' }, { status: 'sent' }])
  })

  test('an unclear total is never guessed: it opens an anomaly that closes once an operator resolves it', async () => {
    const organization = await createPostpaid()
    const { client } = organization
    await seal(organization, 0, '40')
    await runReport(responseLost)
    await seal(organization, 1, '60')
    await runReport(requestLost)
    clock.advance(day + hour)
    expect(await runReport()).toEqual([])
    expect(await listReports(organization)).toMatchObject([{ status: 'unknown' }, { status: 'unknown' }])
    const check = () => runUsageChecks(server.application, usageReportChecks(server.application))
    await check()
    // One for all hours of a price.
    expect((await client.get('/v1/billing/anomalies')).body).toMatchObject([
      {
        kind: 'unsent_usage',
        message: expect.stringMatching(/^2 reports of 100 units of .+ in the hours from .+ to /),
      },
    ])
    await server.application.db
      .updateTable('usage_reports')
      .set({ status: 'sent', sent_at: clock.now() })
      .where('organization_id', '=', organization.id)
      .execute()
    await check()
    expect((await client.get('/v1/billing/usage-summary')).body.open_anomalies).toBe(0)
  })

  test.each([
    ['the processor has all of it', 2, 0, 'sent'],
    ['the processor has some of it', 1, 0, 'unknown'],
    ['the processor has none of it', 0, 2, 'sent'],
  ])('old usage in a restored database is reconciled: %s', async (_, arrived, sentAgain, status) => {
    const organization = await createPostpaid()
    for (const [after, quantity] of ['40', '60'].entries()) {
      await seal(organization, after, quantity)
      if (after < arrived) await runReport()
    }
    const { db } = server.application
    await db.deleteFrom('usage_reports').where('organization_id', '=', organization.id).execute()
    await db
      .updateTable('billing_accounts')
      .set({ usage_reported_through: null, usage_remainders: '{}' })
      .where('organization_id', '=', organization.id)
      .execute()
    clock.advance(day)
    expect(await runReport()).toHaveLength(sentAgain)
    expect(await listReports(organization)).toMatchObject([{ status }, { status }])
  })

  test('an unpublished price does not block other prices, neither new reports nor retries', async () => {
    const organization = await createPostpaid()
    const unpublished = 'a.price.without.a.meter'
    for (const after of [0, 1, 2, 3]) await seal(organization, after, '5', unpublished)
    await runReport()
    const listOf = async (priceKey: string) =>
      (await listReports(organization)).filter(({ price_key: key }) => key === priceKey)
    // After a lost response, the report is retried within a day and reconciled later.
    for (const [after, later] of [
      [4, 3 * 60_000],
      [5, day + hour],
    ] as const) {
      await seal(organization, after, '70')
      await runReport(responseLost)
      clock.advance(later)
      await runReport()
      expect((await listOf(localPriceKey)).at(-1)).toMatchObject({ status: 'sent' })
    }
    expect((await listOf(localPriceKey)).map(({ status }) => status)).toEqual(['sent', 'sent'])
    const waiting = await listOf(unpublished)
    expect(new Set(waiting.map(({ status }) => status))).toEqual(new Set(['unknown']))
  })

  test('the failures of one organization do not block others', async () => {
    const [one, other] = [await createPostpaid(), await createPostpaid()]
    for (const organization of [one, other]) await seal(organization, 0, '10')
    await runReport({
      async sendUsage(event) {
        if (event.customerId === one.customerId) throw new Error('no')
        await server.application.payments.sendUsage(event)
      },
    })
    expect(await listReports(one)).toMatchObject([{ status: 'unknown' }])
    expect(await listReports(other)).toMatchObject([{ status: 'sent' }])
  })
})

test('without a subscription usage waits, is an anomaly after a day, and is on the invoice of the next subscription', async () => {
  const organization = await createPostpaid()
  const { client } = organization
  const { body: account } = await client.get('/v1/billing/account')
  await callSandbox(server.application, 'DELETE', `/v1/subscriptions/${account.processor_subscription_id}`)
  await server.application.db
    .updateTable('billing_accounts')
    .set({ subscription_status: 'canceled' })
    .where('organization_id', '=', organization.id)
    .execute()
  await seal(organization, 0, '50')
  await runReport()
  expect(await listReports(organization)).toEqual([])
  clock.advance(2 * day)
  await runUsageChecks(server.application, usageReportChecks(server.application))
  expect((await client.get('/v1/billing/usage-summary')).body.open_anomalies).toBe(1)
  await activate(server.url, client)
  const { body: again } = await client.get('/v1/billing/account')
  clock.advance(hour)
  await runReport()
  expect(await listMeterEvents(organization)).toMatchObject([
    { value: 50, at: new Date(again.current_period_start) },
  ])
})

test('usage without a report is an anomaly after a day; fractions of a unit are not', async () => {
  const organization = await createPostpaid()
  const { client, id } = organization
  const { db } = server.application
  const countAnomalies = async () => {
    await runUsageChecks(server.application, usageReportChecks(server.application))
    return (await client.get('/v1/billing/usage-summary')).body.open_anomalies
  }
  await seal(organization, 0, '0.6')
  await runReport()
  clock.advance(2 * day)
  expect(await countAnomalies()).toBe(0)
  // The billing period has ended, and the sync for the next one fails.
  await db
    .updateTable('billing_accounts')
    .set({ current_period_end: clock.now() })
    .where('organization_id', '=', id)
    .execute()
  const failing: Partial<PaymentProcessor> = { findSubscription: () => Promise.reject(new Error('no')) }
  await seal(organization, 50, '0.3')
  await runReport(failing)
  clock.advance(2 * day)
  expect(await countAnomalies()).toBe(0)
  await seal(organization, 100, '0.2')
  await runReport(failing)
  expect(await countAnomalies()).toBe(0)
  clock.advance(day + 1000)
  expect(await countAnomalies()).toBe(1)
  expect((await client.get('/v1/billing/anomalies')).body).toMatchObject([
    { kind: 'unsent_usage', message: expect.stringContaining('not reported to the payment processor') },
  ])
  await runReport()
  expect(await countAnomalies()).toBe(0)
})
