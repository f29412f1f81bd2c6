import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { claimKey } from '../../src/features/idempotency/keys.ts'
import { idempotencyJobs } from '../../src/features/idempotency/jobs.ts'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { createTestClock, day, hour } from '../support/clock.ts'
import { listOperations } from '../support/operations.ts'
import { operationTable, prepareRequest } from '../support/operation-table.ts'
import type { SsoServer } from '../support/oidc-provider.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'
import { startTenants } from '../support/tenants.ts'
import type { Tenants } from '../support/tenants.ts'

const clock = createTestClock()
const deployments = '/api/v1/model-deployments'
const members = '/v1/organization/service-members'
const tiny = { model_name: 'berth-tiny' }

let server: TestServer
let client: Client & { email: string; password: string }
beforeAll(async () => {
  server = await startTestServer({ worker: false, clock: clock.now })
  client = await registerClient(server.url)
})
afterAll(() => server.close())

const send = (key: string, path: string, body: unknown, by: Client = client) =>
  by.request('POST', path, body, { 'idempotency-key': key })

const program = () => ({ name: randomUUID(), role: 'member', allowed_networks: ['127.0.0.1/32'] })

async function countPrograms(name: string): Promise<number> {
  const rows = await server.application.db.selectFrom('users').select('id').where('name', '=', name).execute()
  return rows.length
}

/** Lets every creation of a service member wait before its end, until the returned function is called. */
async function blockPrograms(): Promise<() => Promise<void>> {
  const blocked = Promise.withResolvers<void>()
  const locked = Promise.withResolvers<void>()
  const holding = server.application.db.transaction().execute(async (transaction) => {
    await sql`LOCK TABLE audit_log IN SHARE MODE`.execute(transaction)
    locked.resolve()
    await blocked.promise
  })
  await locked.promise
  return async () => {
    blocked.resolve()
    await holding
  }
}

const countRunning = async (key: string) => {
  const keys = server.application.db.selectFrom('idempotency_keys').select('attempt').where('key', '=', key)
  return (await keys.where('response', 'is', null).execute()).map(({ attempt }) => attempt)
}

test('the same key, person and body get the first response again, and create nothing', async () => {
  const key = randomUUID()
  const first = await send(key, deployments, tiny)
  expect(first).toMatchObject({ status: 201, body: { status: 'requested' } })
  expect(first.headers.get('idempotency-replayed')).toBe(null)
  await client.delete(`${deployments}/${first.body.id}`)
  const again = await send(key, deployments, tiny)
  expect(again).toMatchObject({ status: 201, body: first.body })
  expect(again.headers.get('idempotency-replayed')).toBe('true')
  expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'))
  expect((await client.get(`${deployments}?scope=organization`)).body.items).toHaveLength(1)
})

test('another body or path is a 422 idempotency_key_reused; another person has other keys', async () => {
  const key = randomUUID()
  expect((await send(key, members, program())).status).toBe(200)
  for (const [path, body] of [
    [members, program()],
    [deployments, tiny],
  ] as const) {
    expect(await send(key, path, body)).toMatchObject({
      status: 422,
      body: { code: 'idempotency_key_reused' },
    })
  }
  const other = await registerClient(server.url)
  const answer = await send(key, members, program(), other)
  expect([answer.status, answer.headers.get('idempotency-replayed')]).toEqual([200, null])
})

test('a key has 1 to 255 characters', async () => {
  for (const key of ['', 'k'.repeat(256)]) {
    const answer = await send(key, members, program())
    expect(answer).toMatchObject({ status: 400, body: { code: 'malformed_request' } })
  }
  expect((await send('k'.repeat(255), members, program())).status).toBe(200)
})

test('a request that still runs is a 409 request_in_progress with Retry-After', async () => {
  const key = randomUUID()
  const body = program()
  const unblock = await blockPrograms()
  const first = send(key, members, body)
  await expect.poll(() => countRunning(key)).toHaveLength(1)
  const second = await send(key, members, body)
  expect(second).toMatchObject({ status: 409, body: { code: 'request_in_progress' } })
  expect(second.headers.get('retry-after')).toBe('1')
  await unblock()
  expect((await first).status).toBe(200)
  expect(await countPrograms(body.name)).toBe(1)
})

async function readUserId(): Promise<number> {
  const users = server.application.db.selectFrom('users').select('id').where('email', '=', client.email)
  return (await users.executeTakeFirstOrThrow()).id
}

async function readContent(body: unknown): Promise<string> {
  const rows = server.application.db.selectFrom('memberships').select('organization_id')
  const unblocked = rows.where('user_id', '=', await readUserId())
  organizationId ??= (await unblocked.executeTakeFirstOrThrow()).organization_id
  return JSON.stringify([organizationId, 'POST', members, body, null, null])
}
let organizationId: number | null = null

test('after the death of its server, a request runs again 15 seconds later', async () => {
  const key = randomUUID()
  const body = program()
  const { secretKey, db } = server.application
  const dead = { userId: await readUserId(), key, content: await readContent(body) }
  await claimKey({ secretKey, db, clock: clock.now }, dead)
  const early = await send(key, members, body)
  expect(early).toMatchObject({ status: 409, body: { code: 'request_in_progress' } })
  expect(early.headers.get('retry-after')).toBe('1')
  clock.advance(15_001)
  const late = await send(key, members, body)
  expect([late.status, late.headers.get('idempotency-replayed')]).toEqual([200, null])
  expect(await countPrograms(body.name)).toBe(1)
})

test('of two attempts that run at the same time, only the later one creates', async () => {
  const key = randomUUID()
  const body = program()
  const { secretKey, db } = server.application
  const again = { userId: await readUserId(), key, content: await readContent(body) }
  const unblock = await blockPrograms()
  const first = send(key, members, body)
  await expect.poll(() => countRunning(key)).toHaveLength(1)
  clock.advance(15_001)
  // As another server would
  await claimKey({ secretKey, db, clock: clock.now }, again)
  await unblock()
  expect(await first).toMatchObject({ status: 409, body: { code: 'request_in_progress' } })
  expect(await countPrograms(body.name)).toBe(0)
  clock.advance(15_001)
  expect((await send(key, members, body)).status).toBe(200)
  expect(await countPrograms(body.name)).toBe(1)
})

test('a refusal is repeated, unless it depends on the caller or the moment', async () => {
  const budgets = '/v1/billing/budgets'
  const budget = { scope: 'organization', monthly_limit: '100', at_limit: 'notify' }
  const { body } = await client.post(budgets, budget)
  const key = randomUUID()
  expect((await send(key, budgets, budget)).body.code).toBe('budget_exists')
  await client.delete(`${budgets}/${body.id}`)
  const again = await send(key, budgets, budget)
  expect(again).toMatchObject({ status: 409, body: { code: 'budget_exists' } })
  expect(again.headers.get('idempotency-replayed')).toBe('true')
  const session = { name: 'nightly', password: 'not the password' }
  for (const attempt of ['first', 'second']) {
    const refused = await send(key.slice(1), '/v1/auth/sessions', session)
    expect(refused, attempt).toMatchObject({ status: 401, body: { code: 'invalid_credentials' } })
    expect(refused.headers.get('idempotency-replayed')).toBe(null)
  }
})

test('refused attempts at a password count as without a key', async () => {
  const person = await registerClient(server.url)
  const statuses = []
  for (let attempt = 0; attempt < 30 && statuses.at(-1) !== 429; attempt++) {
    const session = { name: 'nightly', password: `wrong ${attempt}` }
    statuses.push((await send(randomUUID(), '/v1/auth/sessions', session, person)).status)
  }
  expect(statuses.at(-1)).toBe(429)
})

test('after an internal error nothing is kept, neither the thing nor the key', async () => {
  const key = randomUUID()
  const body = program()
  const { db } = server.application
  await sql`CREATE FUNCTION refuse_audit() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'no'; END $$`.execute(db)
  await sql`CREATE TRIGGER refuse_audit BEFORE INSERT ON audit_log EXECUTE FUNCTION refuse_audit()`.execute(
    db,
  )
  expect((await send(key, members, body)).status).toBe(500)
  await sql`DROP FUNCTION refuse_audit CASCADE`.execute(db)
  expect(await countPrograms(body.name)).toBe(0)
  expect((await send(key, members, body)).status).toBe(200)
})

test('secrets in a response are encrypted in the table', async () => {
  const key = randomUUID()
  const { password } = (await send(key, members, program())).body
  expect(password.length).toBeGreaterThan(20)
  const { db } = server.application
  const rows = await db.selectFrom('idempotency_keys').selectAll().where('key', '=', key).execute()
  expect(rows).toHaveLength(1)
  const stored = JSON.stringify(rows) + rows[0]!.response!.toString('latin1')
  expect(stored).not.toContain(password)
  expect(stored).not.toContain('password')
})

test('a key is free again after 24 hours, and its row is deleted', async () => {
  const key = randomUUID()
  const body = program()
  await send(key, members, body)
  clock.advance(day - hour)
  const { email, password } = client
  await client.post('/v1/user/signin', { email, password })
  expect((await send(key, members, body)).headers.get('idempotency-replayed')).toBe('true')
  clock.advance(hour)
  expect((await send(key, members, body)).headers.get('idempotency-replayed')).toBe(null)
  expect(await countPrograms(body.name)).toBe(2)
  const count = () => server.application.db.selectFrom('idempotency_keys').select('key').execute()
  expect((await count()).length).toBeGreaterThan(1)
  const [job] = idempotencyJobs(server.application)
  await job!.run(null as never)
  expect((await count()).map((row) => row.key)).toEqual([key])
})

test('the keys of a deleted account are deleted too', async () => {
  const person = await registerClient(server.url)
  const key = randomUUID()
  await send(key, deployments, tiny, person)
  const { password } = person
  const answer = await person.request('DELETE', '/v1/user', { password })
  expect(answer.status).toBe(204)
  const rows = server.application.db.selectFrom('idempotency_keys').select('key').where('key', '=', key)
  expect(await rows.execute()).toEqual([])
})

/** Routes that answer 201, or whose operations say so by their names, and that take no key */
const exceptions: Record<string, string> = {
  'POST /v1/user/register': 'nobody is signed in',
  'POST /v1/invitations/register': 'nobody is signed in',
  'POST /v1/billing/portal/session': 'a link to a page, which a second one does not disturb',
  'POST /v1/billing/checkout/setup-session': 'a link to a page, which a second one does not disturb',
  'POST /api/v1/model-deployments/{deployment_id}/benchmarks':
    'one runs at a time, so a second one is refused',
  'POST /v1/user/second-factors/totp': 'a later start replaces it',
  'POST /v1/user/second-factors/passkeys/start': 'a later start replaces it',
  'POST /v1/invitations/sso/{sso_provider}/start': 'a later start replaces it',
}

test('every POST that creates something takes a key', async () => {
  const document = (await client.get('/openapi.json')).body
  const creating = Object.entries<Record<string, any>>(document.paths).flatMap(([path, { post }]) => {
    const creates =
      post?.responses[201] !== undefined || /^(create|add|invite|import|start)/.test(post?.operationId)
    const isExcepted = exceptions[`POST ${path}`] !== undefined || post?.tags.includes('Inference')
    return creates && !isExcepted ? [{ path, post }] : []
  })
  expect(creating.length).toBeGreaterThan(7)
  for (const { path, post } of creating) {
    expect(post.parameters ?? [], path).toContainEqual(
      expect.objectContaining({ in: 'header', name: 'Idempotency-Key', required: false }),
    )
    expect(Object.keys(post.responses), path).toEqual(expect.arrayContaining(['409', '422']))
  }
})

test('each route with a key repeats its response, without which what it creates is not kept', async () => {
  const started = await startTenants()
  try {
    await repeatAll(started.server, started.tenants)
  } finally {
    await started.close()
  }
})

async function repeatAll(tenantServer: SsoServer, tenants: Tenants): Promise<void> {
  const document = JSON.parse((await tenantServer.app.inject({ url: '/openapi.json' })).body)
  const creating = listOperations(document).flatMap(({ method, path }) => {
    const parameters = document.paths[path][method.toLowerCase()].parameters ?? []
    const takesKey = parameters.some(({ name }: { name: string }) => name === 'Idempotency-Key')
    return takesKey ? [`${method} ${path}`] : []
  })
  expect(creating.length).toBeGreaterThan(7)
  const caller = { server: tenantServer, tenants, actor: tenants.members.super_admin, isOutsider: false }
  for (const operation of creating) {
    const { method, path, body, headers, client: sender } = await prepareRequest(operation, caller)
    const keyed = { ...headers, 'idempotency-key': randomUUID() }
    const first = await sender.request(method, path, body, keyed)
    expect([operation, first.status]).toEqual([
      operation,
      operationTable.get(operation)!.statuses.super_admin,
    ])
    const again = await sender.request(method, path, body, keyed)
    expect([operation, again.status, again.body]).toEqual([operation, first.status, first.body])
    expect(again.headers.get('idempotency-replayed'), operation).toBe('true')
    expect(again.headers.get('location')).toBe(first.headers.get('location'))
  }
  const { db } = tenantServer.application
  const countActions = async () => (await db.selectFrom('audit_log').select('id').execute()).length
  await refuseResponses(db)
  for (const operation of creating.filter((each) => !commitEarly.has(each))) {
    const { method, path, body, headers, client: sender } = await prepareRequest(operation, caller)
    const before = await countActions()
    const answer = await sender.request(method, path, body, { ...headers, 'idempotency-key': randomUUID() })
    expect([operation, answer.status]).toEqual([operation, 500])
    expect([operation, await countActions()]).toEqual([operation, before])
  }
}

/** Routes that wait for others after their commit */
const commitEarly = new Set(['POST /v1/organization/invitations', 'POST /api/v1/deployable-models'])

async function refuseResponses(db: TestServer['application']['db']): Promise<void> {
  await sql`CREATE FUNCTION refuse_response() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'no'; END $$`.execute(db)
  await sql`CREATE TRIGGER refuse_response BEFORE UPDATE ON idempotency_keys
    FOR EACH ROW EXECUTE FUNCTION refuse_response()`.execute(db)
}
