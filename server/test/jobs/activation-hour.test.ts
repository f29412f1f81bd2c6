import { afterAll, beforeAll, expect, test } from 'vitest'
import { publishSandboxPrices } from '../../src/features/billing/processor/publish-prices.ts'
import { reportUsage } from '../../src/features/billing/reports/report-usage.ts'
import { addHours, floorHour } from '../../src/features/metering/hours.ts'
import { recordTokens } from '../../src/features/metering/record-tokens.ts'
import { activate } from '../support/billing.ts'
import { registerClient } from '../support/client.ts'
import { createTestClock, hour } from '../support/clock.ts'
import { insertInstanceSpan } from '../support/instance-spans.ts'
import { openSandboxTables } from '../support/sandbox.ts'
import { settleTrusted } from '../support/settle.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const clock = createTestClock()
let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ worker: false, clock: clock.now })
  await publishSandboxPrices(server.application)
})
afterAll(() => server.close())

/** Moves the clock to the middle of an hour. */
function reachHalfPast(): void {
  const now = clock.now()
  clock.advance(addHours(floorHour(now), 1.5).getTime() - now.getTime())
}

const later = (moment: Date, milliseconds: number) => new Date(moment.getTime() + milliseconds)

async function listMeterEvents(customerId: string) {
  const rows = await openSandboxTables(server.application)
    .selectFrom('meter_events')
    .selectAll()
    .where('customer_id', '=', customerId)
    .execute()
  return rows.map(({ value }) => Number(value))
}

const readQuantities = async (client: Awaited<ReturnType<typeof registerClient>>) => {
  const { body } = await client.get('/v1/billing/usage-summary')
  return body.usage_totals.map((total: any) => [total.meter, total.total_quantity])
}

test('trial usage in the hour of the activation is not charged, and the billing period has one start', async () => {
  const { db } = server.application
  reachHalfPast()
  const client = await registerClient(server.url)
  const { body: trial } = await client.get('/v1/billing/account')
  const id = trial.organization_id
  const now = clock.now()
  const deploymentId = await insertInstanceSpan(db, client, id, {
    from: later(now, -900_000),
    to: later(now, -900_000 + 30_456),
  })
  const { id: userId } = (await client.get('/v1/auth/session')).body.user
  const caller = { userId, processingMilliseconds: 0 }
  const serving = {
    deploymentId,
    organizationId: id,
    modelName: 'berth-tiny',
    requests: 1,
    inputTokens: 5,
    ...caller,
  }
  await recordTokens(db, [{ ...serving, at: now, outputTokens: 100 }])

  await activate(server.url, client)
  const { body: account } = await client.get('/v1/billing/account')
  const { body: subscription } = await client.get('/v1/billing/subscription')
  const { body: summary } = await client.get('/v1/billing/usage-summary')
  expect(summary.period_start).toBe(account.current_period_start)
  expect(summary.period_end).toBe(account.current_period_end)
  expect(subscription.current_period_start).toBe(account.current_period_start)
  expect(summary.usage_totals).toEqual([])

  const start = new Date(account.current_period_start)
  await insertInstanceSpan(db, client, id, { from: later(start, -10_000), to: later(start, 14_091) })
  await recordTokens(db, [
    { ...serving, at: later(start, -1000), outputTokens: 10 },
    { ...serving, at: later(start, 1000), outputTokens: 1 },
  ])
  clock.advance(hour)
  const charged = [
    ['gpu_instance_seconds', '14.091'],
    ['inference_input_tokens', '5'],
    ['inference_output_tokens', '1'],
  ]
  expect(await readQuantities(client)).toEqual(charged)
  await settleTrusted(server.application)
  expect(await readQuantities(client)).toEqual(charged)
  await reportUsage(server.application)
  expect(await listMeterEvents(account.processor_customer_id)).toEqual([14])
  // Further periods have whole hours.
  expect(floorHour(new Date(account.current_period_end)).toISOString()).toBe(account.current_period_end)
  // The usage of the trial stays in the ledger.
  const sums = await db
    .selectFrom('usage_buckets')
    .select(['before_charging', 'quantity'])
    .where('meter', '=', 'gpu_instance_seconds')
    .orderBy('quantity')
    .execute()
  expect(sums).toEqual([
    { before_charging: true, quantity: '10.000' },
    { before_charging: false, quantity: '14.091' },
    { before_charging: true, quantity: '30.456' },
  ])
})

test('an activation that is applied after its hour was sealed charges from the first open hour on', async () => {
  const { db } = server.application
  reachHalfPast()
  const client = await registerClient(server.url)
  const { body: trial } = await client.get('/v1/billing/account')
  const id = trial.organization_id
  const sealed = addHours(floorHour(clock.now()), 3)
  await insertInstanceSpan(db, client, id, { from: later(sealed, -1000), to: later(sealed, 2000) })
  await db
    .updateTable('usage_cursors')
    .set({ sealed_through: sealed })
    .where('organization_id', '=', id)
    .execute()
  await activate(server.url, client)
  const { body: account } = await client.get('/v1/billing/account')
  clock.advance(6 * hour)
  expect(await readQuantities(client)).toEqual([['gpu_instance_seconds', '2']])
  await settleTrusted(server.application)
  await reportUsage(server.application)
  expect(await listMeterEvents(account.processor_customer_id)).toEqual([2])
})
