import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { usageReportChecks } from '../../src/features/billing/usage-report-checks.ts'
import { publishSandboxPrices } from '../../src/features/billing/publish-prices.ts'
import { reportUsage } from '../../src/features/billing/report-usage.ts'
import { toEventIdentifier } from '../../src/features/billing/usage-report-plan.ts'
import { runUsageChecks } from '../../src/features/metering/anomalies.ts'
import { addHours, floorHour } from '../../src/features/metering/hours.ts'
import type { PaymentProcessor, UsageEvent } from '../../src/ports/payment-processor.ts'
import { activate } from '../support/billing.ts'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { createTestClock, day, hour } from '../support/clock.ts'
import { askSandbox } from '../support/sandbox.ts'
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
  const client = await registerClient(server.url)
  await activate(server.url, client)
  const { body: account } = await client.get('/v1/billing/account')
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

/** Writes sealed seconds into the ledger, `after` so many hours from the activation's; that hour is over by then. */
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

async function listTaken({ customerId }: Organization) {
  const rows = await server.application.db
    .selectFrom('sandbox_meter_events')
    .selectAll()
    .where('customer_id', '=', customerId)
    .orderBy('at')
    .execute()
  return rows.map(({ identifier, value, at }) => ({ identifier, value: Number(value), at }))
}

const listSends = ({ id }: Organization) =>
  server.application.db
    .selectFrom('usage_reports')
    .selectAll()
    .where('organization_id', '=', id)
    .orderBy('hour')
    .execute()

/** Sends through a processor some of whose calls are replaced. */
async function sendThrough(changes: Partial<PaymentProcessor> = {}): Promise<UsageEvent[]> {
  const { payments } = server.application
  const told: UsageEvent[] = []
  const replaced = { ...payments, ...changes }
  const watched: PaymentProcessor = {
    ...replaced,
    async sendUsage(event) {
      told.push(event)
      await replaced.sendUsage(event)
    },
  }
  await reportUsage({ ...server.application, payments: watched })
  return told
}

/** The message reaches the processor, its answer does not reach us. */
const answerLost: Partial<PaymentProcessor> = {
  async sendUsage(event) {
    await server.application.payments.sendUsage(event)
    throw new Error('the answer was lost')
  },
}
const messageLost: Partial<PaymentProcessor> = {
  sendUsage: () => Promise.reject(new Error('the message was lost')),
}

describe('sealed hours', () => {
  test('each is told of once, in whole units of which none is lost, at the end of its hour', async () => {
    const organization = await createPostpaid()
    for (const [after, quantity] of ['1800.4', '0.3', '0.2', '3599.9'].entries()) {
      await seal(organization, after, quantity)
    }
    await sendThrough()
    const name = (after: number) =>
      toEventIdentifier(organization.customerId, localPriceKey, addHours(organization.since, after))
    const at = (after: number) => new Date(organization.since.getTime() + (after + 1) * hour - 1000)
    // 1800.4, 1800.7, 1800.9, 5400.8 in all, of which the whole units are told.
    expect(await listTaken(organization)).toEqual([
      { identifier: name(0), value: 1800, at: at(0) },
      { identifier: name(3), value: 3600, at: at(3) },
    ])
    expect((await sendThrough()).filter(({ customerId }) => customerId === organization.customerId)).toEqual(
      [],
    )
    await seal(organization, 4, '0.2')
    await sendThrough()
    expect((await listTaken(organization)).at(-1)).toMatchObject({ identifier: name(4), value: 1 })
  })

  test('hours before the activation’s are not, nor is a trial’s usage', async () => {
    const organization = await createPostpaid()
    await seal(organization, -1, '3600')
    await seal(organization, 0, '60')
    await sendThrough()
    expect(await listTaken(organization)).toMatchObject([{ value: 60 }])
    const trial = await registerClient(server.url)
    const { body } = await trial.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })
    const { body: account } = await trial.get('/v1/billing/account')
    const id = account.organization_id
    const fake = { client: trial, id, customerId: '', deploymentId: body.id, since: organization.since }
    await seal(fake, 1, '3600')
    await sendThrough()
    expect(await listSends(fake)).toEqual([])
  })

  test('a price’s name may be as long as the processor takes', async () => {
    const longest = 'm'.repeat(100)
    const meter = { display_name: 'Long', event_name: longest, 'default_aggregation[formula]': 'sum' }
    await askSandbox(server, 'POST', '/v1/billing/meters', meter)
    const organization = await createPostpaid()
    await seal(organization, 0, '9', longest)
    await sendThrough()
    expect(await listSends(organization)).toMatchObject([{ status: 'sent', price_key: longest }])
    expect(await listTaken(organization)).toMatchObject([{ value: 9 }])
  })

  test('what was written down is not read again, weeks apart or not, and no part of a unit is lost', async () => {
    const organization = await createPostpaid()
    await seal(organization, 0, '0.4')
    await seal(organization, 300, '0.4')
    await seal(organization, 301, '0.1')
    await sendThrough()
    const { db } = server.application
    const readPosition = () =>
      db
        .selectFrom('billing_accounts')
        .select(['usage_written_through', 'usage_remainders'])
        .where('organization_id', '=', organization.id)
        .executeTakeFirst()
    expect(await readPosition()).toEqual({
      usage_written_through: addHours(organization.since, 302),
      usage_remainders: { [localPriceKey]: 900 },
    })
    // What was read before does not count any more.
    await seal(organization, 299, '50')
    await seal(organization, 302, '0.1')
    expect(await sendThrough()).toMatchObject([{ quantity: 1 }])
    expect(await readPosition()).toMatchObject({ usage_remainders: { [localPriceKey]: 0 } })
  })

  test('two processes at once tell of each hour once', async () => {
    const organization = await createPostpaid()
    for (const after of [0, 1, 2, 3]) await seal(organization, after, '100')
    const told = await Promise.all([sendThrough(), sendThrough(), sendThrough()])
    const own = told.flat().filter(({ customerId }) => customerId === organization.customerId)
    expect(own).toHaveLength(4)
    expect(await listTaken(organization)).toHaveLength(4)
  })
})

describe('when the processor fails', () => {
  test.each([
    ['the message is lost', messageLost],
    ['the answer is lost', answerLost],
  ])('%s: unknown, told again under the same identifier, counted once', async (_, fault) => {
    const organization = await createPostpaid()
    await seal(organization, 0, '100')
    const [first] = await sendThrough(fault)
    expect(await listSends(organization)).toMatchObject([
      { status: 'unknown', last_error: expect.any(String) },
    ])
    expect(await sendThrough()).toEqual([])
    clock.advance(3 * 60_000)
    const [second] = await sendThrough()
    expect(second!.identifier).toBe(first!.identifier)
    expect(await listSends(organization)).toMatchObject([{ status: 'sent', attempts: 2, last_error: null }])
    expect(await listTaken(organization)).toMatchObject([{ value: 100 }])
  })

  test('a process that died while it told: the row says so, and it is told again', async () => {
    const organization = await createPostpaid()
    await seal(organization, 0, '100')
    await sendThrough(answerLost)
    await server.application.db
      .updateTable('usage_reports')
      .set({ status: 'pending', last_error: null })
      .where('organization_id', '=', organization.id)
      .execute()
    clock.advance(3 * 60_000)
    await sendThrough()
    expect(await listSends(organization)).toMatchObject([{ status: 'sent' }])
    expect(await listTaken(organization)).toMatchObject([{ value: 100 }])
  })

  test('what was written down under a name is told under it, however names are made today', async () => {
    const organization = await createPostpaid()
    await seal(organization, 0, '100')
    await sendThrough(messageLost)
    const identifier = `${organization.id}:of an older version`
    await server.application.db
      .updateTable('usage_reports')
      .set({ identifier })
      .where('organization_id', '=', organization.id)
      .execute()
    clock.advance(3 * 60_000)
    await sendThrough()
    expect(await listTaken(organization)).toMatchObject([{ identifier, value: 100 }])
  })

  test.each([
    ['had arrived', answerLost, 0],
    ['had not arrived', messageLost, 1],
  ])('after a day without knowing it is compared: what %s', async (_, fault, toldAgain) => {
    const organization = await createPostpaid()
    await seal(organization, 0, '70')
    await sendThrough()
    await seal(organization, 1, '30')
    await sendThrough(fault)
    clock.advance(23.5 * hour)
    expect(await sendThrough()).toEqual([])
    clock.advance(hour)
    expect(await sendThrough()).toHaveLength(toldAgain)
    expect(await listSends(organization)).toMatchObject([{ status: 'sent' }, { status: 'sent' }])
    expect((await listTaken(organization)).map(({ value }) => value)).toEqual([70, 30])
  })

  test('it is compared only with what the processor has surely counted, not with what it was told of just now', async () => {
    const organization = await createPostpaid()
    await seal(organization, 0, '50')
    await sendThrough(answerLost)
    clock.advance(day)
    await seal(organization, 24, '50')
    // The first hour is in the sum, the second is not yet.
    const late: Partial<PaymentProcessor> = { countUsage: async () => 50 }
    expect(await sendThrough(late)).toMatchObject([{ quantity: 50 }])
    expect(await listSends(organization)).toMatchObject([{ status: 'unknown' }, { status: 'sent' }])
    clock.advance(hour / 2)
    expect(await sendThrough()).toEqual([])
    expect(await listSends(organization)).toMatchObject([{ status: 'sent' }, { status: 'sent' }])
    expect((await listTaken(organization)).map(({ value }) => value)).toEqual([50, 50])
  })

  test('it is compared again later when another process tells of more meanwhile', async () => {
    const organization = await createPostpaid()
    await seal(organization, 0, '50')
    await sendThrough(answerLost)
    clock.advance(day)
    const { payments } = server.application
    const told = await sendThrough({
      async countUsage(...question) {
        const counted = await payments.countUsage(...question)
        await seal(organization, 24, '50')
        await sendThrough()
        return counted
      },
    })
    expect(told).toEqual([])
    expect(await listSends(organization)).toMatchObject([{ status: 'unknown' }, { status: 'sent' }])
  })

  test('what can’t be told apart is never told blindly, and opens an anomaly that closes when it is settled', async () => {
    const organization = await createPostpaid()
    const { client } = organization
    await seal(organization, 0, '40')
    await sendThrough(answerLost)
    await seal(organization, 1, '60')
    await sendThrough(messageLost)
    clock.advance(day + hour)
    expect(await sendThrough()).toEqual([])
    expect(await listSends(organization)).toMatchObject([{ status: 'unknown' }, { status: 'unknown' }])
    const check = () => runUsageChecks(server.application, usageReportChecks(server.application))
    await check()
    expect((await client.get('/v1/billing/usage-summary')).body.open_anomalies).toBe(2)
    await server.application.db
      .updateTable('usage_reports')
      .set({ status: 'sent', sent_at: clock.now() })
      .where('organization_id', '=', organization.id)
      .execute()
    await check()
    expect((await client.get('/v1/billing/usage-summary')).body.open_anomalies).toBe(0)
  })

  test.each([
    ['all of it is there', 2, 0, 'sent'],
    ['some of it is there', 1, 0, 'unknown'],
    ['none of it is there', 0, 2, 'sent'],
  ])('what a restored database has forgotten is compared: %s', async (_, arrived, toldAgain, status) => {
    const organization = await createPostpaid()
    for (const [after, quantity] of ['40', '60'].entries()) {
      await seal(organization, after, quantity)
      if (after < arrived) await sendThrough()
    }
    const { db } = server.application
    await db.deleteFrom('usage_reports').where('organization_id', '=', organization.id).execute()
    await db
      .updateTable('billing_accounts')
      .set({ usage_written_through: null, usage_remainders: '{}' })
      .where('organization_id', '=', organization.id)
      .execute()
    clock.advance(day)
    expect(await sendThrough()).toHaveLength(toldAgain)
    expect(await listSends(organization)).toMatchObject([{ status }, { status }])
  })

  test('a price that is not published holds no other up, neither new hours nor old', async () => {
    const organization = await createPostpaid()
    const unpublished = 'a.price.without.a.meter'
    for (const after of [0, 1, 2, 3]) await seal(organization, after, '5', unpublished)
    await sendThrough()
    const listOf = async (priceKey: string) =>
      (await listSends(organization)).filter(({ price_key: key }) => key === priceKey)
    // Its answer is lost: it is told again while that is safe, or compared after a day.
    for (const [after, later] of [
      [4, 3 * 60_000],
      [5, day + hour],
    ] as const) {
      await seal(organization, after, '70')
      await sendThrough(answerLost)
      clock.advance(later)
      await sendThrough()
      expect((await listOf(localPriceKey)).at(-1)).toMatchObject({ status: 'sent' })
    }
    expect((await listOf(localPriceKey)).map(({ status }) => status)).toEqual(['sent', 'sent'])
    const waiting = await listOf(unpublished)
    expect(new Set(waiting.map(({ status }) => status))).toEqual(new Set(['unknown']))
  })

  test('one organization’s trouble holds no other up', async () => {
    const [one, other] = [await createPostpaid(), await createPostpaid()]
    for (const organization of [one, other]) await seal(organization, 0, '10')
    await sendThrough({
      async sendUsage(event) {
        if (event.customerId === one.customerId) throw new Error('no')
        await server.application.payments.sendUsage(event)
      },
    })
    expect(await listSends(one)).toMatchObject([{ status: 'unknown' }])
    expect(await listSends(other)).toMatchObject([{ status: 'sent' }])
  })
})

test('without a subscription usage waits, is told of as an anomaly after a day, and is on the next one’s invoice', async () => {
  const organization = await createPostpaid()
  const { client } = organization
  const { body: account } = await client.get('/v1/billing/account')
  await askSandbox(server, 'DELETE', `/v1/subscriptions/${account.processor_subscription_id}`)
  await server.application.db
    .updateTable('billing_accounts')
    .set({ subscription_status: 'canceled' })
    .where('organization_id', '=', organization.id)
    .execute()
  await seal(organization, 0, '50')
  await sendThrough()
  expect(await listSends(organization)).toEqual([])
  clock.advance(2 * day)
  await runUsageChecks(server.application, usageReportChecks(server.application))
  expect((await client.get('/v1/billing/usage-summary')).body.open_anomalies).toBe(1)
  await activate(server.url, client)
  const { body: again } = await client.get('/v1/billing/account')
  clock.advance(hour)
  await sendThrough()
  expect(await listTaken(organization)).toMatchObject([
    { value: 50, at: new Date(again.current_period_start) },
  ])
})

test('usage that no attempt was made to send is an anomaly after a day; parts of a unit are none', async () => {
  const organization = await createPostpaid()
  const { client, id } = organization
  const { db } = server.application
  const countAnomalies = async () => {
    await runUsageChecks(server.application, usageReportChecks(server.application))
    return (await client.get('/v1/billing/usage-summary')).body.open_anomalies
  }
  await seal(organization, 0, '0.6')
  await sendThrough()
  clock.advance(2 * day)
  expect(await countAnomalies()).toBe(0)
  // Its period is over, and the processor can't be asked for the next one.
  await db
    .updateTable('billing_accounts')
    .set({ current_period_end: clock.now() })
    .where('organization_id', '=', id)
    .execute()
  const failing: Partial<PaymentProcessor> = { findSubscription: () => Promise.reject(new Error('no')) }
  await seal(organization, 50, '0.3')
  await sendThrough(failing)
  clock.advance(2 * day)
  expect(await countAnomalies()).toBe(0)
  await seal(organization, 100, '0.2')
  await sendThrough(failing)
  expect(await countAnomalies()).toBe(0)
  clock.advance(day + 1000)
  expect(await countAnomalies()).toBe(1)
  expect((await client.get('/v1/billing/anomalies')).body).toMatchObject([
    { kind: 'unsent_usage', message: expect.stringContaining('not reported to the payment processor') },
  ])
  await sendThrough()
  expect(await countAnomalies()).toBe(0)
})
