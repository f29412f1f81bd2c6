import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Database } from '../../../../../src/database/tables.ts'
import { StatisticsRecorder } from '../../../../../src/features/statistics/recorder.ts'
import { pruneStatistics } from '../../../../../src/features/statistics/store.ts'
import { registerClient } from '../../../../support/client.ts'
import type { Client } from '../../../../support/client.ts'
import { waitForStatus } from '../../../../support/deployments.ts'
import { answerJson, startRecordingEngine } from '../../../../support/recording-engine.ts'
import type { RecordingEngine } from '../../../../support/recording-engine.ts'
import { createScriptedRuntime } from '../../../../support/scripted-runtime.ts'
import { startTestServer } from '../../../../support/server.ts'
import type { TestServer } from '../../../../support/server.ts'

const path = '/api/v1/model-deployments'
const answer = '{"usage":{"prompt_tokens":3,"completion_tokens":4}}'
const outcome = {
  userId: 1,
  waitedMilliseconds: 5,
  status: 200,
  callerLeft: false,
  isRetry: false,
  firstByteMilliseconds: 10,
  durationMilliseconds: 100,
  inputTokens: 3,
  outputTokens: 4,
}

let now = new Date('2026-03-01T10:42:30.000Z')
let engine: RecordingEngine
let runtime: ReturnType<typeof createScriptedRuntime>
let server: TestServer
let client: Client
let id: string
beforeAll(async () => {
  engine = await startRecordingEngine()
  runtime = createScriptedRuntime(engine.url)
  // The clock jumps by hours, which would use up a trial.
  server = await startTestServer({ runtime, clock: () => now, settings: { BILLING: 'off' } })
  client = await registerClient(server.url)
})
beforeEach(async () => {
  now = new Date('2026-03-01T10:42:30.000Z')
  engine.answer((response) => answerJson(response, answer))
  id = (await client.post(path, { model_name: 'berth-tiny' })).body.id
  await waitForStatus(client, id, 'running')
})
afterAll(async () => {
  await server.close()
  await engine.close()
})

function chat(body: object = {}, signal: AbortSignal | null = null, headers: Record<string, string> = {}) {
  return fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { cookie: client.cookie(), 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: id, messages: [{ role: 'user', content: 'Hello' }], ...body }),
    signal,
  })
}

/** Reads the statistics after flushing all finished requests. */
async function read(window = '1h') {
  await server.application.inference.statistics.flush()
  const { status, body } = await client.get(`${path}/${id}/statistics?window=${window}`)
  expect(status).toBe(200)
  return body
}

const waitForRequests = (requests: number) => expect.poll(async () => (await read()).requests).toBe(requests)

test('GET …/{id}/statistics: without requests every value is 0 or null, for every step of the window', async () => {
  const { body } = await client.get(`${path}/${id}/statistics`)
  expect(body).toEqual({
    window: '1h',
    from: '2026-03-01T09:43:00.000Z',
    to: '2026-03-01T10:42:30.000Z',
    in_flight: 0,
    requests: 0,
    errors: 0,
    failed_by_status: {},
    caller_left: 0,
    retries: 0,
    input_tokens: 0,
    output_tokens: 0,
    time_to_first_byte_ms: null,
    duration_ms: null,
    series: expect.any(Array),
    members: [],
  })
  expect(body.series).toHaveLength(60)
  expect(new Set(body.series.map(({ requests }: { requests: number }) => requests))).toEqual(new Set([0]))
  expect((await read('15m')).series).toHaveLength(15)
  expect((await read('24h')).series).toHaveLength(48)
  expect((await read('7d')).series).toHaveLength(56)
  expect((await read('30d')).series).toHaveLength(60)
})

test('GET …/{id}/statistics: requests count in the minute in which they end, with tokens and durations', async () => {
  await chat()
  await waitForRequests(1)
  now = new Date('2026-03-01T10:44:01.000Z')
  await chat()
  await chat()
  await waitForRequests(3)
  const body = await read('15m')
  expect(body).toMatchObject({ requests: 3, errors: 0, input_tokens: 9, output_tokens: 12 })
  const { p50, p95, p99 } = body.duration_ms
  expect(p50).toBeGreaterThan(0)
  expect(p95).toBeGreaterThanOrEqual(p50)
  expect(p99).toBeGreaterThanOrEqual(p95)
  expect(body.time_to_first_byte_ms.p99).toBeLessThanOrEqual(p99)
  expect(body.series.slice(-3)).toMatchObject([
    { at: '2026-03-01T10:42:00.000Z', requests: 1, output_tokens: 4, duration_p50_ms: expect.any(Number) },
    { at: '2026-03-01T10:43:00.000Z', requests: 0, output_tokens: 0, duration_p50_ms: null },
    { at: '2026-03-01T10:44:00.000Z', requests: 2, output_tokens: 8, duration_p95_ms: expect.any(Number) },
  ])
  now = new Date('2026-03-01T11:10:00.000Z')
  expect(await read('15m')).toMatchObject({ requests: 0 })
  expect((await read('24h')).series.slice(-2)).toMatchObject([
    { at: '2026-03-01T10:30:00.000Z', requests: 3 },
    { at: '2026-03-01T11:00:00.000Z', requests: 0 },
  ])
})

test('GET …/{id}/statistics: errors are 5xx and responses cut off by the engine, not client errors', async () => {
  const answers: { status: number; isError: boolean }[] = [
    { status: 400, isError: false },
    { status: 429, isError: false },
    { status: 500, isError: true },
    { status: 503, isError: true },
  ]
  for (const { status } of answers) {
    engine.answer((response) => answerJson(response, '{"error":{"message":"No."}}', status))
    await chat()
  }
  engine.answer((response) => response.destroy())
  expect((await chat()).status).toBe(502)
  engine.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {}\n\n')
    setImmediate(() => response.destroy())
  })
  await chat({ stream: true }).then((response) => response.text().catch(() => null))
  await waitForRequests(6)
  expect(await read()).toMatchObject({
    errors: 4,
    failed_by_status: { '400': 1, '429': 1, '500': 1, '502': 2, '503': 1 },
  })
})

test('GET …/{id}/statistics: a client disconnect counts as a request, not as an error; in_flight counts open requests', async () => {
  engine.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {}\n\n')
  })
  const abort = new AbortController()
  const response = await chat({ stream: true }, abort.signal)
  await response.body!.getReader().read()
  expect(await read()).toMatchObject({ in_flight: 1, requests: 0 })
  abort.abort()
  await waitForRequests(1)
  expect(await read()).toMatchObject({ in_flight: 0, requests: 1, errors: 0 })
})

test('GET …/{id}/statistics: a client that gives up and retries shows in `caller_left` and `retries`', async () => {
  const before = await read()
  for (const attempt of ['0', '1', '2']) {
    const abort = new AbortController()
    const arrived = new Promise<void>((resolve) => engine.answer(() => resolve()))
    const asked = chat({}, abort.signal, { 'x-stainless-retry-count': attempt })
    await arrived
    abort.abort()
    await expect(asked).rejects.toThrow('aborted')
  }
  engine.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {}\n\n')
  })
  const abort = new AbortController()
  const stream = await chat({ stream: true }, abort.signal, { 'x-stainless-retry-count': '1' })
  await stream.body!.getReader().read()
  abort.abort()
  await waitForRequests(before.requests + 4)
  expect(await read()).toMatchObject({
    errors: before.errors,
    caller_left: before.caller_left + 4,
    retries: 3,
  })
})

test('GET …/{id}/statistics: instances and load over time; requests that wait for a wake count as waiting', async () => {
  const last = async () => (await read('15m')).series.at(-1)
  now = new Date('2026-03-01T10:43:30.000Z')
  engine.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {}\n\n')
  })
  const abort = new AbortController()
  const response = await chat({ stream: true }, abort.signal)
  await response.body!.getReader().read()
  await expect.poll(async () => (await last()).in_flight, { timeout: 10_000 }).toBeGreaterThan(0)
  expect(await last()).toMatchObject({ waiting: 0, instances: 1 })
  abort.abort()
  await waitForRequests(1)

  await client.post(`${path}/${id}/sleep`)
  const readStatus = async () => {
    now = new Date(now.getTime() + 1_000)
    return (await client.get(`${path}/${id}`)).body.status
  }
  await expect.poll(readStatus, { timeout: 30_000, interval: 100 }).toBe('sleeping')
  now = new Date(now.getTime() + 60_000)
  expect(await last()).toMatchObject({ in_flight: 0, waiting: 0, instances: 0 })
  runtime.answer({ ensureEngine: () => ({ phase: 'starting', message: '…' }) })
  const waiting = chat()
  await expect.poll(async () => (await last()).waiting, { timeout: 10_000 }).toBeGreaterThan(0)
  engine.answer((each) => answerJson(each, answer))
  runtime.reset()
  expect((await waiting).status).toBe(200)
})

test('GET …/{id}/statistics: sums over processes and over several writes of the same minute', async () => {
  const { db, clock, log } = server.application
  const processes = [new StatisticsRecorder({ db, clock, log }), new StatisticsRecorder({ db, clock, log })]
  for (const [index, statistics] of processes.entries()) {
    statistics.recordLoad(id, { inFlightSeconds: 15, waitingSeconds: 3 })
    for (const durationMilliseconds of [100, 1000 * (index + 1)]) {
      statistics.record(id, { ...outcome, durationMilliseconds })
      await statistics.flush()
    }
    statistics.record(id, {
      ...outcome,
      durationMilliseconds: 100,
      status: 500,
      firstByteMilliseconds: null,
    })
    statistics.record(randomUUID(), outcome)
  }
  await Promise.all(processes.map((statistics) => statistics.close()))
  const body = await read()
  expect(body).toMatchObject({ requests: 6, errors: 2, input_tokens: 18, output_tokens: 24 })
  expect(body.series.at(-1)).toMatchObject({ in_flight: 1, waiting: 0.2 })
  expect(body.duration_ms.p50).toBeCloseTo(100, -1)
  expect(body.duration_ms.p99).toBeGreaterThan(960)
  expect(body.duration_ms.p99).toBeLessThan(2_100)
  const rows = await db.selectFrom('deployment_minutes').selectAll().where('deployment_id', '=', id).execute()
  const sum = (buckets: Record<string, number>) =>
    Object.values(buckets).reduce((one, other) => one + other, 0)
  expect(rows.map((row) => [sum(row.first_byte_buckets), sum(row.duration_buckets)])).toEqual([[4, 6]])
})

test('GET …/{id}/statistics: members have requests, tokens and time in the queue, over processes and minutes', async () => {
  const { db, clock, log } = server.application
  const { id: userId } = (await client.get('/v1/auth/session')).body.user
  const other = await registerClient(server.url)
  const { id: otherId, email, name } = (await other.get('/v1/auth/session')).body.user
  for (const minute of [42, 43]) {
    now = new Date(`2026-03-01T10:${minute}:30.000Z`)
    const processes = [new StatisticsRecorder({ db, clock, log }), new StatisticsRecorder({ db, clock, log })]
    for (const statistics of processes) {
      statistics.record(id, { ...outcome, userId, waitedMilliseconds: 0 })
      for (const waitedMilliseconds of [40, 1_000]) {
        statistics.record(id, { ...outcome, userId: otherId, waitedMilliseconds })
      }
    }
    await Promise.all(processes.map((statistics) => statistics.close()))
  }
  const { members } = await read()
  expect(members).toMatchObject([
    { user_id: otherId, email, name, requests: 8, input_tokens: 24, output_tokens: 32 },
    { user_id: userId, requests: 4, input_tokens: 12, output_tokens: 16 },
  ])
  const [{ waiting_ms: waits }, { waiting_ms: none }] = members
  expect(waits.p50).toBeCloseTo(40, -1)
  expect(waits.p99).toBeGreaterThan(960)
  expect(none.p99).toBeLessThan(1)
  now = new Date('2026-03-01T12:00:00.000Z')
  expect((await read('15m')).members).toEqual([])
})

test('GET …/{id}/statistics: failed writes are retried', async () => {
  const { db, clock, log } = server.application
  let isDown = true
  const transaction = () => {
    if (isDown) throw new Error('database down')
    return db.transaction()
  }
  const flaky = { transaction, deleteFrom: db.deleteFrom.bind(db) } as Database
  const statistics = new StatisticsRecorder({ db: flaky, clock, log })
  statistics.record(id, outcome)
  await statistics.flush()
  expect((await read()).requests).toBe(0)
  isDown = false
  await statistics.close()
  expect((await read()).requests).toBe(1)
})

test('GET …/{id}/statistics: a commit whose confirmation was lost counts once', async () => {
  const { db, clock, log } = server.application
  let losses = 1
  const transaction = () => ({
    async execute(work: (transaction: Database) => Promise<void>) {
      await db.transaction().execute(work)
      if (losses-- > 0) throw new Error('connection lost')
    },
  })
  const flaky = { transaction, deleteFrom: db.deleteFrom.bind(db) } as unknown as Database
  const statistics = new StatisticsRecorder({ db: flaky, clock, log })
  statistics.record(id, outcome)
  await statistics.flush()
  statistics.record(id, outcome)
  await statistics.close()
  expect(await read()).toMatchObject({ requests: 2, members: [{ requests: 2 }] })
  expect(await read('30d')).toMatchObject({ requests: 2, members: [{ requests: 2 }] })
  expect(await db.selectFrom('statistics_batches').selectAll().execute()).toEqual([])
})

test('GET …/{id}/statistics: hours are the sums of their minutes, of several processes in any order', async () => {
  const { db, clock, log } = server.application
  const { id: userId } = (await client.get('/v1/auth/session')).body.user
  const outcomes = fc.record({
    process: fc.nat(1),
    minute: fc.integer({ min: 0, max: 300 }),
    status: fc.constantFrom(200, 404, 429, 500, 503),
    durationMilliseconds: fc.nat(100_000),
    waitedMilliseconds: fc.nat(1_000),
    flushes: fc.boolean(),
  })
  const given = fc.sample(fc.array(outcomes, { minLength: 100, maxLength: 100 }), 1)[0]!
  const processes = [new StatisticsRecorder({ db, clock, log }), new StatisticsRecorder({ db, clock, log })]
  for (const { process, minute, flushes, ...each } of given) {
    now = new Date(Date.UTC(2026, 1, 20, 10, minute))
    const statistics = processes[process]!
    statistics.record(id, { ...outcome, userId, callerLeft: minute % 2 === 0, ...each })
    statistics.recordLoad(id, { inFlightSeconds: 1, waitingSeconds: minute })
    if (flushes) await statistics.flush()
  }
  await Promise.all(processes.map((statistics) => statistics.close()))
  const [minutes, hours] = await Promise.all([
    db.selectFrom('deployment_minutes').selectAll().where('deployment_id', '=', id).execute(),
    db.selectFrom('deployment_hours').selectAll().where('deployment_id', '=', id).execute(),
  ])
  expect(hours.length).toBeGreaterThan(3)
  expect(sumByHour(hours.map(({ hour, ...row }) => ({ at: hour, ...row })))).toEqual(
    sumByHour(minutes.map(({ minute, ...row }) => ({ at: minute, ...row }))),
  )
  const [callerMinutes, callerHours] = await Promise.all([
    db.selectFrom('caller_minutes').selectAll().where('deployment_id', '=', id).execute(),
    db.selectFrom('caller_hours').selectAll().where('deployment_id', '=', id).execute(),
  ])
  expect(sumByHour(callerHours.map(({ hour, ...row }) => ({ at: hour, ...row })))).toEqual(
    sumByHour(callerMinutes.map(({ minute, ...row }) => ({ at: minute, ...row }))),
  )
})

/** Adds up every number and every histogram of rows, by hour. */
function sumByHour(rows: readonly ({ at: Date } & Record<string, unknown>)[]) {
  const sums: Record<string, number> = {}
  const add = (key: string, number: number) => (sums[key] = (sums[key] ?? 0) + number)
  for (const { at, deployment_id: _, user_id: __, ...values } of rows) {
    const hour = at.toISOString().slice(0, 13)
    for (const [name, value] of Object.entries(values)) {
      if (typeof value === 'number') add(`${hour} ${name}`, value)
      else if (typeof value === 'object' && value !== null)
        for (const [bucket, number] of Object.entries(value)) add(`${hour} ${name} ${bucket}`, number)
    }
  }
  return sums
}

test('GET …/{id}/statistics: minutes are kept for two days, hours for STATISTICS_RETENTION', async () => {
  await chat()
  await waitForRequests(1)
  const { db } = server.application
  const day = 24 * 3_600_000
  const count = async (
    table: 'deployment_minutes' | 'caller_minutes' | 'deployment_hours' | 'caller_hours',
  ) => (await db.selectFrom(table).select('requests').where('deployment_id', '=', id).execute()).length
  for (const [until, minutes, hours] of [
    ['2026-03-03T10:42:00.000Z', 1, 1],
    ['2026-03-03T10:43:00.000Z', 0, 1],
    ['2026-03-31T10:00:00.000Z', 0, 1],
    ['2026-03-31T10:00:00.001Z', 0, 0],
  ] as const) {
    await pruneStatistics(db, new Date(until), 30 * day)
    expect(await count('deployment_minutes')).toBe(minutes)
    expect(await count('caller_minutes')).toBe(minutes)
    expect(await count('deployment_hours')).toBe(hours)
    expect(await count('caller_hours')).toBe(hours)
  }
})

test('GET …/{id}/statistics: windows of days have what ended before the minutes were deleted, by caller', async () => {
  const { db, log } = server.application
  const { id: userId } = (await client.get('/v1/auth/session')).body.user
  for (const at of ['2026-02-05T10:00:00Z', '2026-02-25T09:30:00Z', '2026-03-01T10:30:00Z']) {
    const statistics = new StatisticsRecorder({ db, log, clock: () => new Date(at) })
    statistics.record(id, { ...outcome, userId })
    await statistics.close()
  }
  await pruneStatistics(db, now, 90 * 24 * 3_600_000)
  const week = await read('7d')
  expect(week).toMatchObject({
    from: '2026-02-22T12:00:00.000Z',
    input_tokens: 6,
    members: [{ requests: 2 }],
  })
  expect(week.series.filter((step: { requests: number }) => step.requests > 0)).toMatchObject([
    { at: '2026-02-25T09:00:00.000Z', requests: 1, output_tokens: 4, duration_p50_ms: expect.any(Number) },
    { at: '2026-03-01T09:00:00.000Z', requests: 1 },
  ])
  expect(await read('24h')).toMatchObject({ requests: 1, members: [{ requests: 1 }] })
  expect(await read('30d')).toMatchObject({ requests: 3, members: [{ requests: 3 }] })
})

test.each(['2h', '', '15M', '15m&window=1h'])('GET …/{id}/statistics?window=%s is a 422', async (window) => {
  const { status, body } = await client.get(`${path}/${id}/statistics?window=${window}`)
  expect(status).toBe(422)
  expect(body.errors[0]).toMatchObject({ location: 'query', field: 'window' })
})

test('GET …/{id}/statistics: 404 for another user’s deployment, an unknown id and an invalid id', async () => {
  const stranger = await registerClient(server.url)
  expect((await stranger.get(`${path}/${id}/statistics`)).status).toBe(404)
  for (const unknown of [randomUUID(), 'x', '%00']) {
    expect((await client.get(`${path}/${unknown}/statistics`)).status).toBe(404)
  }
})
