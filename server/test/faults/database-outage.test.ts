import { deploy } from '../support/deployments.ts'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startEmbeddedDatabase } from '../../src/database/embedded.ts'
import { createClient, registerClient } from '../support/client.ts'
import type { Answer, Client } from '../support/client.ts'
import { createTestDatabase } from '../support/database.ts'
import { startGate } from '../support/database-gate.ts'
import type { DatabaseGate } from '../support/database-gate.ts'
import { answerJson, startRecordingEngine } from '../support/recording-engine.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

let database: Awaited<ReturnType<typeof createTestDatabase>>
let gate: DatabaseGate
let server: TestServer
let client: Awaited<ReturnType<typeof registerClient>>
beforeAll(async () => {
  database = await createTestDatabase()
  gate = await startGate(database.url)
  server = await startTestServer({ worker: false, settings: { DATABASE_URL: gate.url } })
  client = await registerClient(server.url)
})
afterAll(async () => {
  await server.close()
  await gate.close()
  await database.drop()
})

function expectUnavailable(answer: Answer): void {
  expect(answer.status, JSON.stringify(answer.body)).toBe(503)
  expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
  expect((answer.body.error ?? answer.body).code).toBe('database_unavailable')
}

test('without a database every route is a 503 database_unavailable with Retry-After, until it is back', async () => {
  await gate.shut()
  for (const path of ['/v1/auth/session', '/v1/organization', '/v1/models', '/healthz', '/readyz']) {
    expectUnavailable(await client.get(path))
  }
  const { email, password } = client
  expectUnavailable(await client.post('/v1/user/signin', { email, password }))
  expectUnavailable(await client.post('/api/v1/model-deployments', { model_name: 'berth-tiny' }))
  const uncached = { model: 'berth-tiny', messages: [] }
  expectUnavailable(await client.post('/v1/chat/completions', uncached))
  await gate.open()
  expect((await client.get('/v1/auth/session')).status).toBe(200)
})

test('a connection that is lost during a query is a 503 database_unavailable', async () => {
  const holder = new pg.Client({ connectionString: database.url })
  await holder.connect()
  try {
    await holder.query('BEGIN; UPDATE organizations SET name = name')
    const pending = client.request('PATCH', '/v1/organization', '{"name":"New"}', {
      'content-type': 'application/json',
    })
    const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
    await expect.poll(async () => (await holder.query(waiting)).rowCount).toBe(1)
    await gate.shut()
    expectUnavailable(await pending)
  } finally {
    await holder.end()
    await gate.open()
  }
  expect((await client.get('/v1/organization')).status).toBe(200)
})

test('chats of a cached session go on while PostgreSQL is stopped, and their usage arrives when it is back', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'berth-outage-'))
  const start = (settings = {}) => startEmbeddedDatabase({ dataDirectory: folder, log: () => {}, settings })
  let postgres = await start()
  const { url } = postgres
  const engine = await startRecordingEngine()
  engine.answer((response) => answerJson(response, '{"usage":{"prompt_tokens":1,"completion_tokens":2}}'))
  const runtime = createScriptedRuntime(engine.url)
  const own = await startTestServer({ runtime, settings: { DATABASE_URL: url } })
  try {
    const owner = await registerClient(own.url)
    const other = await registerClient(own.url)
    const { id: model } = await deploy(owner)
    const usage = async () => (await owner.get(`/api/v1/model-deployments/${model}/usage`)).body
    const chat = async (by: Client = owner) => (await by.post('/v1/chat/completions', { model })).status
    expect([await chat(), await chat(other)]).toEqual([200, 404])
    // Another device of the owner, which signs out before the outage
    const device = createClient(own.url)
    await device.post('/v1/user/signin', { email: owner.email, password: owner.password })
    expect(await chat(device)).toBe(200)
    const revoked = device.cookie()
    await device.post('/v1/user/logout')
    device.setCookie(revoked)

    let stopped = false
    let answered = 2
    let during = 0
    const callers = Array.from({ length: 8 }, async () => {
      while (during < 100) {
        const answer = await owner.post('/v1/chat/completions', { model })
        expect(answer.status, JSON.stringify(answer.body)).toBe(200)
        answered += 1
        if (stopped) during += 1
      }
    })
    await expect.poll(() => answered).toBeGreaterThan(200)
    await postgres.stop()
    stopped = true
    await Promise.all(callers)
    expectUnavailable(await owner.get('/v1/organization'))
    expectUnavailable(await device.post('/v1/chat/completions', { model }))
    expectUnavailable(await other.post('/v1/chat/completions', { model }))

    postgres = await start({ port: new URL(url).port })
    await expect.poll(async () => (await owner.get('/readyz')).status).toBe(200)
    expect([await chat(), await chat(device), await chat(other)]).toEqual([200, 401, 404])
    await expect.poll(usage).toMatchObject({
      requests: answered + 1,
      input_tokens: answered + 1,
      output_tokens: 2 * (answered + 1),
    })
  } finally {
    await own.close()
    await engine.close()
    await postgres.stop()
    await rm(folder, { recursive: true, force: true })
  }
})

test('requests in flight go on while the database has no connection left, and a session revoked meanwhile ends afterwards', async () => {
  const own = await createTestDatabase()
  const admin = new pg.Client({ connectionString: own.url })
  await admin.connect()
  const engine = await startRecordingEngine()
  engine.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const sending = setInterval(
      () => response.write('data: {"choices":[{"delta":{"content":"on"}}]}\n\n'),
      20,
    )
    response.on('close', () => clearInterval(sending))
  })
  const runtime = createScriptedRuntime(engine.url)
  const setting = await startTestServer({ runtime, settings: { DATABASE_URL: own.url } })
  try {
    const owner = await registerClient(setting.url)
    const { id: model } = await deploy(owner)
    const { email, password } = owner
    const device = createClient(setting.url)
    await device.post('/v1/user/signin', { email, password })
    const [kept, revoked] = [
      await openStream(setting.url, owner, model),
      await openStream(setting.url, device, model),
    ]

    await admin.query(`ALTER DATABASE ${admin.database} CONNECTION LIMIT 0`)
    await admin.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'berth'`,
    )
    await admin.query('DELETE FROM sessions WHERE id = (SELECT max(id) FROM sessions)')
    const refused = () => setting.logs.some((line) => line.includes('too many connections'))
    await expect.poll(refused).toBe(true)
    expectUnavailable(await owner.get('/v1/organization'))
    for (const stream of [kept, revoked]) expect(await stream.readMore()).toBe(true)

    await admin.query(`ALTER DATABASE ${admin.database} CONNECTION LIMIT -1`)
    while (await revoked.readMore());
    expect(await kept.readMore()).toBe(true)
    const broken = () => setting.logs.map((line) => JSON.parse(line).broken_by).filter(Boolean)
    await expect.poll(broken).toEqual(['gateway'])
  } finally {
    await setting.close()
    await engine.close()
    await admin.end()
    await own.drop()
  }
})

/** Opens an inference stream. `readMore` resolves to false when it has ended. */
async function openStream(url: string, client: Client, model: string) {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { cookie: client.cookie(), 'content-type': 'application/json' },
    body: JSON.stringify({ model, stream: true, messages: [] }),
  })
  expect(response.status).toBe(200)
  const reader = response.body!.getReader()
  return {
    readMore: () =>
      reader.read().then(
        ({ done }) => !done,
        () => false,
      ),
  }
}
