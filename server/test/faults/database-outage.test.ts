import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { registerClient } from '../support/client.ts'
import type { Answer } from '../support/client.ts'
import { createTestDatabase } from '../support/database.ts'
import { startGate } from '../support/database-gate.ts'
import type { DatabaseGate } from '../support/database-gate.ts'
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
  expectUnavailable(await client.post('/v1/chat/completions', { model: 'berth-tiny', messages: [] }))
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
    await expect.poll(async () => (await holder.query(waiting)).rowCount, { timeout: 10_000 }).toBe(1)
    await gate.shut()
    expectUnavailable(await pending)
  } finally {
    await holder.end()
    await gate.open()
  }
  expect((await client.get('/v1/organization')).status).toBe(200)
})
