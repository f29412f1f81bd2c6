import { deploy } from '../support/deployments.ts'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectDatabase } from '../../src/database/connect.ts'
import { startEmbeddedDatabase } from '../../src/database/embedded.ts'
import type { Database } from '../../src/database/tables.ts'
import { query } from '../database/scratch.ts'
import { administer } from '../support/administer-database.ts'
import { createClient, registerClient } from '../support/client.ts'
import type { Answer, Client } from '../support/client.ts'
import { createTestDatabase } from '../support/database.ts'
import { startGate } from '../support/database-gate.ts'
import type { DatabaseGate } from '../support/database-gate.ts'
import { startLoadBalancer } from '../support/load-balancer.ts'
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
  const strict = '/readyz?database=required'
  for (const path of ['/v1/auth/session', '/v1/organization', '/v1/models', '/healthz', strict]) {
    expectUnavailable(await client.get(path))
  }
  for (let probe = 0; probe < 3; probe++) {
    expect(await client.get('/readyz')).toMatchObject({
      status: 200,
      body: { status: 'degraded', database: expect.stringMatching(/^unreachable since \d{4}-.*Z$/) },
    })
  }
  const { email, password } = client
  expectUnavailable(await client.post('/v1/user/signin', { email, password }))
  expectUnavailable(await client.post('/api/v1/model-deployments', { model_name: 'berth-tiny' }))
  const uncached = { model: 'berth-tiny', messages: [] }
  expectUnavailable(await client.post('/v1/chat/completions', uncached))
  await gate.open()
  expect((await client.get('/v1/auth/session')).status).toBe(200)
  await expect.poll(async () => (await client.get(strict)).body).toEqual({ status: 'ok' })
  const countLines = (message: string) => server.logs.filter((line) => line.includes(message)).length
  expect(countLines('the database does not respond')).toBe(1)
  expect(countLines('the database is available again')).toBe(1)
})

/** Makes PostgreSQL raise an error for each write of a table, until the returned function is called. */
async function failWrites(table: string, code: string, condition = 'true'): Promise<() => Promise<void>> {
  await administer(
    database.url,
    `CREATE FUNCTION fail_write() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN IF ${condition} THEN RAISE EXCEPTION 'not now' USING ERRCODE = '${code}'; END IF; RETURN NEW; END $$`,
    `CREATE TRIGGER fail_write BEFORE UPDATE ON ${table} FOR EACH ROW EXECUTE FUNCTION fail_write()`,
  )
  return () => administer(database.url, 'DROP FUNCTION fail_write CASCADE')
}

test('every error of PostgreSQL that means “not now” is a 503 database_unavailable with Retry-After', async () => {
  const codes = ['08006', '25006', '25P03', '25P04', '40001', '40P01', '53000', '53200', '53300', '53400']
  for (const code of [...codes, '55P03', '57014', '57P01', '57P02', '57P03', '57P04', '57P05', '58030']) {
    const repair = await failWrites('users', code)
    try {
      const answer = await client.patch('/v1/user/profile', { first_name: 'New' })
      expect(answer.status, code).toBe(503)
      expectUnavailable(answer)
    } finally {
      await repair()
    }
  }
  expect((await client.patch('/v1/user/profile', { first_name: 'New' })).status).toBe(200)
})

test('a read-only database: changes are a 503, reads go on, /readyz is degraded, and the log has one line a minute', async () => {
  const name = new URL(database.url).pathname.slice(1)
  const readOnly = (value: string) =>
    administer(
      database.url,
      'SET default_transaction_read_only = off',
      `ALTER DATABASE ${name} SET default_transaction_read_only = ${value}`,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'berth'`,
    )
  await readOnly('on')
  const earlier = server.logs.length
  try {
    await expect.poll(async () => (await client.get('/v1/organization')).status).toBe(200)
    for (let attempt = 0; attempt < 5; attempt++) {
      expectUnavailable(await client.patch('/v1/user/profile', { first_name: 'New' }))
    }
    expect((await client.get('/v1/organization')).status).toBe(200)
    expect((await client.get('/healthz')).status).toBe(200)
    expect((await client.get('/readyz')).body.database).toMatch(/^read-only since/)
    expectUnavailable(await client.get('/readyz?database=required'))
    const lines = server.logs.slice(earlier).filter((line) => line.includes('"code":"25006"'))
    expect(lines.length).toBeLessThanOrEqual(1)
  } finally {
    await readOnly('off')
  }
  await expect
    .poll(async () => (await client.patch('/v1/user/profile', { first_name: 'New' })).status)
    .toBe(200)
  await expect.poll(async () => (await client.get('/readyz')).body).toEqual({ status: 'ok' })
})

test('a read-only connection closes all connections of the pool that are as old', async () => {
  const pool = connectDatabase(database.url, 3, () => undefined)
  const findPid = (db: Database) => sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`.execute(db)
  const findPids = async () => {
    const held = await Promise.all([1, 2, 3].map(() => pool.db.startTransaction().execute()))
    const pids = await Promise.all(held.map(async (db) => (await findPid(db)).rows[0]!.pid))
    await Promise.all(held.map((db) => db.rollback().execute()))
    return pids.toSorted((one, other) => one - other)
  }
  try {
    const before = await findPids()
    expect(await findPids()).toEqual(before)
    const failing = pool.db.transaction().setAccessMode('read only')
    await expect(
      failing.execute((transaction) => sql`CREATE TABLE never (id int)`.execute(transaction)),
    ).rejects.toThrow('read-only transaction')
    expect((await findPids()).filter((pid) => before.includes(pid))).toEqual([])
  } finally {
    await pool.close()
  }
})

test('a right password never counts as a failed sign-in, although the database failed in the middle', async () => {
  const { email, password } = client
  const countFailures = async () => {
    const rows = await query<{ points: number }>(
      database.url,
      `SELECT points FROM rate_limits WHERE key LIKE 'sign-in%' AND points > 0`,
    )
    return rows.length
  }
  await expect.poll(countFailures).toBe(0)
  const repair = await failWrites('rate_limits', '25006', 'NEW.points < OLD.points')
  expect((await client.post('/v1/user/signin', { email, password })).status).toBe(200)
  expect(await countFailures()).toBeGreaterThan(0)
  await repair()
  await expect.poll(countFailures, { timeout: 20_000 }).toBe(0)

  // The password isn't judged at all.
  await administer(database.url, 'ALTER TABLE known_networks RENAME TO lost_networks')
  const view = `CREATE VIEW known_networks AS SELECT * FROM lost_networks WHERE fail_read()`
  await administer(
    database.url,
    `CREATE FUNCTION fail_read() RETURNS boolean LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'not now' USING ERRCODE = '57P03'; END $$`,
    view,
  )
  try {
    expectUnavailable(await client.post('/v1/user/signin', { email, password }))
  } finally {
    await administer(
      database.url,
      'DROP VIEW known_networks',
      'DROP FUNCTION fail_read',
      'ALTER TABLE lost_networks RENAME TO known_networks',
    )
  }
  await expect.poll(countFailures).toBe(0)
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

test('behind a load balancer, chats of a cached session go on while PostgreSQL is stopped, and their usage arrives when it is back', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'berth-outage-'))
  const start = (settings = {}) => startEmbeddedDatabase({ dataDirectory: folder, log: () => {}, settings })
  let postgres = await start()
  const { url } = postgres
  const engine = await startRecordingEngine()
  engine.answer((response) => answerJson(response, '{"usage":{"prompt_tokens":1,"completion_tokens":2}}'))
  const runtime = createScriptedRuntime(engine.url)
  const own = await startTestServer({ runtime, settings: { DATABASE_URL: url } })
  const balancer = await startLoadBalancer()
  try {
    await balancer.add(own.url)
    const owner = await registerClient(own.url)
    const balanced = createClient(balancer.url)
    balanced.setCookie(owner.cookie())
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
        const answer = await balanced.post('/v1/chat/completions', { model })
        expect(answer.status, JSON.stringify(answer.body)).toBe(200)
        answered += 1
        if (stopped) during += 1
      }
    })
    await expect.poll(() => answered).toBeGreaterThan(200)
    await postgres.stop()
    await expect.poll(async () => (await owner.get('/readyz')).body.status).toBe('degraded')
    stopped = true
    await Promise.all(callers)
    expectUnavailable(await owner.get('/v1/organization'))
    expectUnavailable(await device.post('/v1/chat/completions', { model }))
    expectUnavailable(await other.post('/v1/chat/completions', { model }))

    postgres = await start({ port: new URL(url).port })
    await expect.poll(async () => (await owner.get('/readyz')).body).toEqual({ status: 'ok' })
    expect([await chat(), await chat(device), await chat(other)]).toEqual([200, 401, 404])
    await expect.poll(usage).toMatchObject({
      requests: answered + 1,
      input_tokens: answered + 1,
      output_tokens: 2 * (answered + 1),
    })
  } finally {
    await balancer.close()
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

test('locked tables delay no chats to deployments that are known, also after a change of theirs or a name', async () => {
  const own = await createTestDatabase()
  const holder = new pg.Client({ connectionString: own.url })
  await holder.connect()
  const engine = await startRecordingEngine()
  engine.answer((response) => answerJson(response, '{"usage":{"prompt_tokens":1,"completion_tokens":2}}'))
  const runtime = createScriptedRuntime(engine.url)
  const setting = await startTestServer({ runtime, settings: { DATABASE_URL: own.url } })
  try {
    const owner = await registerClient(setting.url)
    const { id: model } = await deploy(owner)
    const chat = async () => (await owner.post('/v1/chat/completions', { model })).status
    expect(await chat()).toBe(200)
    const changed = Promise.withResolvers<string>()
    setting.application.notifications.subscribe('deployment_changed', changed.resolve)
    const renamed = Promise.withResolvers<void>()
    let renames = 0
    setting.application.notifications.subscribe('viewer_renamed', () => ++renames === 2 && renamed.resolve())
    await holder.query('BEGIN; LOCK TABLE deployments, sessions IN ACCESS EXCLUSIVE MODE')
    await administer(
      own.url,
      `SELECT pg_notify('deployment_changed', max(id)::text) FROM users`,
      `UPDATE users SET name = 'Another'`,
      `UPDATE organizations SET name = 'Another'`,
    )
    await Promise.all([changed.promise, renamed.promise])
    expect(await Promise.all([chat(), chat(), chat()])).toEqual([200, 200, 200])
    expect((await holder.query('COMMIT')).command).toBe('COMMIT')
    expect((await owner.get('/v1/auth/session')).body.user.name).toBe('Another')
    await owner.delete(`/api/v1/model-deployments/${model}`)
    await expect.poll(chat).toBe(404)
  } finally {
    await holder.end()
    await setting.close()
    await engine.close()
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
