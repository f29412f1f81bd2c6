import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { verifyProof } from '../../../cli/src/bill/verify.ts'
import { checkLedger, checkUsage } from '../../src/features/metering/checks.ts'
import { sumAmount, summarizeUsage } from '../../src/features/metering/summary.ts'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { deploy, waitForStatus } from '../support/deployments.ts'
import { createScriptedRuntime, makeOffer } from '../support/scripted-runtime.ts'
import { listAllUsageEvents } from '../support/sealed-usage.ts'
import { settleTrusted } from '../support/settle.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const path = '/api/v1/model-deployments'
const evening = new Date('2026-01-31T21:30:00.250Z')
let now = evening
const endpoint = { baseUrl: 'http://127.0.0.1:9' }
const runtime = createScriptedRuntime(undefined, () => now)
let server: TestServer
let client: Client
let organizationId: number

beforeAll(async () => {
  server = await startTestServer({ runtime, clock: () => now, settings: { BILLING_TRIAL_CREDIT: '1000' } })
})
afterAll(() => server?.close())

beforeEach(async () => {
  now = evening
  runtime.reset()
  client = await registerClient(server.url)
  organizationId = (await client.get('/v1/organization')).body.id
})

function pass(time: { hours?: number; minutes?: number; milliseconds?: number }): void {
  const { hours = 0, minutes = 0, milliseconds = 0 } = time
  now = new Date(now.getTime() + (hours * 60 + minutes) * 60_000 + milliseconds)
}

async function terminate(id: string): Promise<void> {
  await client.delete(`${path}/${id}`)
  await waitForStatus(client, id, 'terminated')
}

function readBuckets() {
  return server.application.db
    .selectFrom('usage_buckets')
    .select(['hour', 'quantity', 'sealed_at'])
    .where('organization_id', '=', organizationId)
    .orderBy('hour')
    .execute()
}

const summarize = (start: Date, end: Date) =>
  summarizeUsage(server.application, organizationId, { start, end, chargedSince: null })
const month = [new Date('2026-01-01T00:00:00Z'), new Date('2026-02-01T00:00:00Z')] as const
const nextMonth = [month[1], new Date('2026-03-01T00:00:00Z')] as const

test('a span across midnight and the end of a month is cut into hours, to the millisecond', async () => {
  const { id } = await deploy(client)
  pass({ hours: 3, milliseconds: 123 })
  await terminate(id)
  pass({ hours: 2 })
  await settleTrusted(server.application)
  const buckets = await readBuckets()
  expect(buckets.map(({ hour, quantity }) => [hour.toISOString(), quantity])).toEqual([
    ['2026-01-31T21:00:00.000Z', '1799.750'],
    ['2026-01-31T22:00:00.000Z', '3600.000'],
    ['2026-01-31T23:00:00.000Z', '3600.000'],
    ['2026-02-01T00:00:00.000Z', '1800.373'],
  ])
  expect(buckets.every(({ sealed_at: sealed }) => sealed !== null)).toBe(true)
  const january = await summarize(...month)
  expect(january).toEqual({
    organizationId,
    periodStart: month[0],
    periodEnd: month[1],
    currency: 'usd',
    usageTotals: [
      {
        meter: 'gpu_instance_seconds',
        unit: 'second',
        totalQuantity: '8999.75',
        serviceKey: 'compute',
        displayName: 'small in test-region',
        dimensions: { instance_type: 'small', region: 'test-region' },
        unitAmount: '0.001',
        currency: 'usd',
        estimatedAmount: '8.99975',
      },
    ],
    openAnomalies: 0,
  })
  const february = await summarize(...nextMonth)
  expect(february.usageTotals.map(({ totalQuantity }) => totalQuantity)).toEqual(['1800.373'])
  expect(await sumAmount(server.application, organizationId)).toBe('10.800123')
  const { body: usage } = await client.get(`${path}/${id}/usage`)
  expect(usage).toMatchObject({ instance_seconds: 10_800.123, cost: '10.800123', currency: 'usd' })
  const events = await listAllUsageEvents(server.application.db, organizationId, month[0])
  expect(events.map(({ quantity }) => quantity)).toEqual([1799, 3600, 3600, 1801])
  expect(events[0]).toEqual({
    priceKey: 'gpu_instance_seconds.small.test-region.0.001-usd',
    hour: new Date('2026-01-31T21:00:00.000Z'),
    quantity: 1799,
  })
})

/** Makes the reconciler check a deployment now. */
const checkEngine = (id: string) =>
  server.application.db
    .updateTable('deployments')
    .set({ reconcile_at: new Date(0) })
    .where('id', '=', id)
    .execute()

test.each([
  ['an engine that disappears', { phase: 'absent' }],
  ['an engine that was lost and may come back by itself', { phase: 'starting', message: 'Launching.' }],
] as const)('%s: not billed until it runs again in its place', async (_name, lost) => {
  const { id } = await deploy(client)
  const read = async () => (await client.get(`${path}/${id}`)).body
  pass({ minutes: 10 })
  const lostAt = now
  pass({ minutes: 1 })
  runtime.answer({
    observeEngine: () => ({ ...lost, lostAt }),
    ensureEngine: () => ({ phase: 'starting', message: 'Launching.' }),
  })
  await checkEngine(id)
  await vi.waitFor(async () => expect((await read()).status_message).toMatch(/Launching\.$/), 20_000)
  pass({ minutes: 5 })
  const startedAt = now
  pass({ minutes: 2 })
  const instance = { createdAt: startedAt, startedAt, reason: null }
  runtime.answer({ ensureEngine: () => ({ phase: 'ready', endpoint, instance }) })
  await checkEngine(id)
  await vi.waitFor(async () => expect((await read()).status_message).toBeNull(), 20_000)
  pass({ minutes: 3 })
  await terminate(id)
  const { body: usage } = await client.get(`${path}/${id}/usage`)
  expect(usage.instance_seconds).toBe(600 + 120 + 180)
  expect(await sumAmount(server.application, organizationId)).toBe('0.9')
  await checkUsage(server.application)
  await checkLedger(server.application)
  expect((await summarize(...month)).openAnomalies).toBe(0)
})

test('an engine that is found lost after an outage: billed until the start of the outage', async () => {
  const { id } = await deploy(client)
  const read = async () => (await client.get(`${path}/${id}`)).body
  pass({ minutes: 10 })
  runtime.answer({ observeEngine: () => ({ phase: 'unreachable', message: 'No answer.' }) })
  await checkEngine(id)
  await vi.waitFor(async () => expect((await read()).status_message).toBe('No answer.'), 20_000)
  pass({ minutes: 5 })
  runtime.answer({
    observeEngine: () => ({ phase: 'absent', lostAt: 'unknown' }),
    ensureEngine: () => ({ phase: 'starting', message: 'Launching.' }),
  })
  await checkEngine(id)
  await vi.waitFor(async () => expect((await read()).status_message).toMatch(/Launching\.$/), 20_000)
  pass({ minutes: 1 })
  const instance = { createdAt: now, startedAt: now, reason: null }
  runtime.answer({ ensureEngine: () => ({ phase: 'ready', endpoint, instance }) })
  await checkEngine(id)
  await vi.waitFor(async () => expect((await read()).status_message).toBeNull(), 20_000)
  pass({ minutes: 3 })
  // The next outage is another one: an engine that answers again was never lost.
  runtime.answer({ observeEngine: () => ({ phase: 'unreachable', message: 'No answer.' }) })
  await checkEngine(id)
  await vi.waitFor(async () => expect((await read()).status_message).toBe('No answer.'), 20_000)
  pass({ minutes: 2 })
  runtime.answer({ observeEngine: () => ({ phase: 'ready', endpoint, instance }) })
  await checkEngine(id)
  await vi.waitFor(async () => expect((await read()).status_message).toBeNull(), 20_000)
  await terminate(id)
  const { body: usage } = await client.get(`${path}/${id}/usage`)
  expect(usage.instance_seconds).toBe((10 + 3 + 2) * 60)
})

test('an engine whose launch had to wait: billed from the launch', async () => {
  runtime.answer({ ensureEngine: () => ({ phase: 'unreachable', message: 'No worker.' }) })
  const { id } = await deploy(client, 'berth-tiny', 'deploying')
  pass({ minutes: 4 })
  const startedAt = now
  pass({ minutes: 1 })
  const instance = { createdAt: startedAt, startedAt, reason: null }
  runtime.answer({ ensureEngine: () => ({ phase: 'ready', endpoint, instance }) })
  await checkEngine(id)
  await waitForStatus(client, id, 'running')
  pass({ minutes: 1 })
  await terminate(id)
  expect(await sumAmount(server.application, organizationId)).toBe('0.12')
  expect((await client.get(`${path}/${id}/usage`)).body.instance_seconds).toBe(120)
})

test('a lost instance is billed until its loss, and its replacement from the start of its engine', async () => {
  const { id } = await deploy(client)
  const read = async () => (await client.get(`${path}/${id}`)).body
  const readSeconds = async () => (await client.get(`${path}/${id}/usage`)).body.instance_seconds
  // The loss is noticed 110 seconds after the last heartbeat.
  pass({ minutes: 10 })
  const lostAt = now
  pass({ milliseconds: 110_000 })
  const reason = "The engine's pod was evicted from node node-1: Low on memory."
  runtime.answer({
    observeEngine: () => ({
      phase: 'failed',
      stage: 'runtime',
      code: 'instance_lost',
      message: reason,
      lostAt,
    }),
    ensureEngine: () => ({ phase: 'starting', message: 'Waiting for a node.' }),
  })
  await checkEngine(id)
  await vi.waitFor(
    async () => expect((await read()).status_message).toMatch(/ Waiting for a node\.$/),
    20_000,
  )
  expect(await readSeconds()).toBe(600)
  pass({ minutes: 5 })
  await checkUsage(server.application)
  expect((await summarize(...month)).openAnomalies).toBe(0)

  const createdAt = now
  pass({ minutes: 1 })
  const startedAt = now
  pass({ minutes: 2 })
  const instance = { instanceId: 'pod-2', gpuAllocationId: 'node-2', createdAt, startedAt, reason: null }
  runtime.answer({
    observeEngine: () => ({ phase: 'ready', endpoint, instance }),
    ensureEngine: () => ({ phase: 'ready', endpoint, instance }),
  })
  await checkEngine(id)
  await vi.waitFor(async () => {
    expect(await read()).toMatchObject({
      status: 'running',
      status_message: null,
      instance_id: 'pod-2',
      gpu_allocation_id: 'node-2',
    })
  }, 20_000)
  expect(await readSeconds()).toBe(600 + 120)
  pass({ minutes: 10 })
  await terminate(id)
  expect(await readSeconds()).toBe(600 + 720)
  await checkUsage(server.application)
  await checkLedger(server.application)
  expect(await summarize(...month)).toMatchObject({
    usageTotals: [{ totalQuantity: '1320' }],
    openAnomalies: 0,
  })
  const { items } = (await client.get(`${path}/${id}/events`)).body
  const messages: string[] = items.map(({ message }: { message: string }) => message)
  expect(messages).toEqual(
    expect.arrayContaining([
      `${reason} Restarting the engine.`,
      expect.stringMatching(/^Instance pod-2 replaced small-\S+\. The model is ready for requests again\.$/),
    ]),
  )
})

test('an instance that was replaced between two checks is billed until its replacement was created', async () => {
  const { id } = await deploy(client)
  pass({ minutes: 10 })
  const createdAt = now
  pass({ minutes: 3 })
  const instance = {
    instanceId: 'pod-2',
    gpuAllocationId: 'node-2',
    createdAt,
    startedAt: now,
    reason: "The engine's pod was stopped on node node-1.",
  }
  pass({ minutes: 1 })
  runtime.answer({
    observeEngine: () => ({ phase: 'ready', endpoint: { baseUrl: 'http://127.0.0.1:9' }, instance }),
  })
  await server.application.db
    .updateTable('deployments')
    .set({ reconcile_at: new Date(0) })
    .where('id', '=', id)
    .execute()
  await vi.waitFor(async () => {
    expect((await client.get(`${path}/${id}`)).body.instance_id).toBe('pod-2')
  }, 20_000)
  const { items } = (await client.get(`${path}/${id}/events`)).body
  expect(items.map(({ message }: { message: string }) => message)).toContainEqual(
    expect.stringMatching(/^The engine's pod was stopped on node node-1\. Instance pod-2 replaced small-/),
  )
  await terminate(id)
  expect((await client.get(`${path}/${id}/usage`)).body.instance_seconds).toBe(600 + 60)
})

test('a summary counts open spans up to now, before and after settlement', async () => {
  await deploy(client)
  expect((await summarize(...month)).usageTotals).toEqual([])
  pass({ milliseconds: 5 })
  expect((await summarize(...month)).usageTotals[0]).toMatchObject({
    totalQuantity: '0.005',
    estimatedAmount: '0.000005',
  })
  pass({ hours: 1, minutes: 50 })
  for (const settled of [false, true]) {
    if (settled) await settleTrusted(server.application)
    const { usageTotals } = await summarize(...month)
    expect(usageTotals.map(({ totalQuantity }) => totalQuantity)).toEqual(['6600.005'])
    expect(await sumAmount(server.application, organizationId)).toBe('6.600005')
  }
})

test('a deployment’s cost includes only its own usage, sealed or not', async () => {
  const readCost = async (id: string) => (await client.get(`${path}/${id}/usage`)).body.cost
  const { id: first } = await deploy(client)
  pass({ hours: 1 })
  const { id: second } = await deploy(client)
  pass({ minutes: 30, milliseconds: 1 })
  for (const settled of [false, true]) {
    if (settled) await settleTrusted(server.application)
    expect(await readCost(first)).toBe('5.400001')
    expect(await readCost(second)).toBe('1.800001')
  }
})

test('an hour is sealed 15 minutes after its end and can never change again', async () => {
  await deploy(client)
  now = new Date('2026-01-31T22:14:59.999Z')
  await settleTrusted(server.application)
  expect((await readBuckets()).map((bucket) => bucket.sealed_at)).toEqual([null, null])
  now = new Date('2026-01-31T22:15:00.000Z')
  await settleTrusted(server.application)
  expect((await readBuckets()).map((bucket) => bucket.sealed_at)).toEqual([now, null])
  const { db } = server.application
  const own = ['organization_id', '=', organizationId] as const
  await expect(
    db
      .updateTable('usage_buckets')
      .set({ quantity: '1' })
      .where(...own)
      .execute(),
  ).rejects.toThrow(/sealed/)
  await expect(
    db
      .deleteFrom('usage_buckets')
      .where(...own)
      .execute(),
  ).rejects.toThrow(/sealed/)
})

test('a deployment that takes hours to start is billed from the provider’s start, once it is ready', async () => {
  runtime.answer({ ensureEngine: () => ({ phase: 'starting', message: 'Loading.' }) })
  const { id } = await deploy(client, 'berth-tiny', 'deploying')
  pass({ hours: 5 })
  await settleTrusted(server.application)
  expect((await summarize(...nextMonth)).usageTotals).toEqual([])
  expect(await readBuckets()).toEqual([])
  runtime.reset()
  await waitForStatus(client, id, 'running')
  await settleTrusted(server.application)
  const all = await summarize(month[0], nextMonth[1])
  expect(all.usageTotals.map(({ totalQuantity }) => totalQuantity)).toEqual(['18000'])
})

test('a deployment that failed before it was ready is not billed; another one is billed until its release', async () => {
  const failed = { phase: 'failed', stage: 'model_launch', code: 'launch_rejected', message: 'No.' } as const
  runtime.answer({ ensureEngine: () => ({ phase: 'starting', message: 'Loading.' }) })
  const { id: never } = await deploy(client, 'berth-tiny', 'deploying')
  pass({ hours: 1 })
  runtime.answer({ ensureEngine: () => failed })
  await waitForStatus(client, never, 'failed')
  runtime.reset()
  const { id: late } = await deploy(client)
  pass({ hours: 1 })
  runtime.answer({ release: () => false })
  await client.delete(`${path}/${late}`)
  pass({ minutes: 1 })
  runtime.answer({ release: () => true })
  const spans = () =>
    server.application.db
      .selectFrom('instance_spans')
      .selectAll()
      .where('organization_id', '=', organizationId)
      .orderBy('id')
      .execute()
  await expect.poll(async () => (await spans()).every((span) => span.ended_at !== null)).toBe(true)
  expect((await spans()).map((span) => [span.deployment_id, span.voided_at !== null])).toEqual([
    [never, true],
    [late, false],
  ])
  pass({ hours: 5 })
  await settleTrusted(server.application)
  const all = await summarize(month[0], nextMonth[1])
  expect(all.usageTotals.map(({ totalQuantity }) => totalQuantity)).toEqual(['3660'])
})

test('tokens are counted by model, free, and not reported to the processor', async () => {
  const { id } = await deploy(client)
  const { db } = server.application
  const usage = { hour: new Date('2026-01-31T21:00:00Z'), requests: 1, input_tokens: 7, output_tokens: 0 }
  await db
    .insertInto('token_usage')
    .values({
      deployment_id: id,
      organization_id: organizationId,
      user_id: (await client.get('/v1/auth/session')).body.user.id,
      model_name: 'berth-tiny',
      ...usage,
    })
    .execute()
  const tokens = () =>
    summarize(...month).then(({ usageTotals }) => usageTotals.filter(({ unit }) => unit === 'token'))
  const expected = [
    {
      meter: 'inference_input_tokens',
      unit: 'token',
      totalQuantity: '7',
      serviceKey: 'inference',
      displayName: 'Input tokens of berth-tiny',
      dimensions: { model_name: 'berth-tiny' },
      unitAmount: '0',
      currency: 'usd',
      estimatedAmount: '0',
    },
  ]
  expect(await tokens()).toEqual(expected)
  pass({ hours: 2 })
  await settleTrusted(server.application)
  expect(await tokens()).toEqual(expected)
  const events = await listAllUsageEvents(server.application.db, organizationId, month[0])
  expect(new Set(events.map(({ priceKey }) => priceKey))).toEqual(
    new Set(['gpu_instance_seconds.small.test-region.0.001-usd']),
  )
})

test('a share of a GPU is its own line on the bill, in the table and in a proof that verifies', async () => {
  runtime.answer({ listOffers: () => [makeOffer('l4-x1'), makeOffer('l4-x1/3', { shares: 3 })] })
  for (const instance_type of ['l4-x1', 'l4-x1/3']) {
    const { body } = await client.post(path, { model_name: 'berth-tiny', instance_type })
    await waitForStatus(client, body.id, 'running')
    pass({ hours: 1 })
    await terminate(body.id)
  }
  pass({ hours: 2 })
  await settleTrusted(server.application)
  const { usageTotals } = await summarizeUsage(server.application, organizationId, {
    start: month[0],
    end: nextMonth[1],
    chargedSince: null,
  })
  const amounts = usageTotals.map(({ dimensions, estimatedAmount }): [string, string] => [
    dimensions['instance_type']!,
    estimatedAmount,
  ])
  // 3,600 s at 0.80 / 3600 = 0.000222222222, and a third of that
  expect(new Map(amounts)).toEqual(
    new Map([
      ['l4-x1', '0.7999999992'],
      ['l4-x1/3', '0.2666666664'],
    ]),
  )
  const range = `from=${month[0].toISOString()}&to=${nextMonth[1].toISOString()}`
  const proof = await client.get(`/v1/billing/usage/proof?${range}`)
  expect(verifyProof(proof.body)).toMatchObject({ difference: null })
  expect(new Set(proof.body.spans.map((span: { instance_type: string }) => span.instance_type))).toEqual(
    new Set(['l4-x1', 'l4-x1/3']),
  )
  const url = `${server.url}/v1/billing/usage?from=2026-01-01&to=2026-02-28&group_by=deployment`
  const table = await fetch(url, { headers: { cookie: client.cookie(), accept: 'text/csv' } })
  expect(await table.text()).toContain('l4-x1/3')
})
