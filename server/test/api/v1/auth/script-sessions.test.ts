import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { createClient, registerClient } from '../../../support/client.ts'
import type { Answer, Client } from '../../../support/client.ts'
import { createTestClock, day } from '../../../support/clock.ts'
import type { Account } from '../../../support/organizations.ts'
import { insertReset } from '../../../support/password-resets.ts'
import { addTotp, signIn } from '../../../support/second-factors.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const route = '/v1/auth/sessions'
const name = 'Nightly report'
const clock = createTestClock()

let server: TestServer
let account: Account
beforeAll(async () => {
  server = await startTestServer({ worker: false, clock: clock.now })
})
afterAll(() => server.close())
beforeEach(async () => {
  account = await registerClient(server.url)
})

/** Creates a session for scripts and returns its client. */
async function create(body: object = { name, password: account.password }): Promise<Client> {
  return toScript(await account.post(route, body))
}

function toScript({ status, body }: Answer): Client {
  expect(status, JSON.stringify(body)).toBe(201)
  const script = createClient(server.url)
  script.setCookie(body.cookie)
  return script
}

const statusOf = async (client: Client) => (await client.get('/v1/auth/session')).status

test('POST /v1/auth/sessions: a named session; its cookie is shown once', async () => {
  const created = await account.post(route, { name: ` ${name} `, password: account.password })
  const { id, cookie, expires_at } = created.body
  expect(created).toMatchObject({
    status: 201,
    body: { name, cookie: expect.stringMatching(/^berth_session=.{43}$/) },
  })
  expect(created.headers.getSetCookie()).toEqual([])
  expect(created.headers.get('cache-control')).toBe('no-store')
  const script = toScript(created)
  for (const path of ['/v1/models', '/v1/models', '/api/v1/model-deployments']) {
    expect((await script.get(path)).status).toBe(200)
  }
  const list = await account.get(route)
  expect(JSON.stringify(list.body)).not.toContain(cookie.slice(8))
  expect(list.body).toMatchObject([
    { id, kind: 'script', name, expires_at, current: false },
    { kind: 'sign_in', name: null, current: true },
  ])
  const { body: log } = await account.get('/v1/organization/audit-log')
  const target = { type: 'session', id: String(id), name }
  expect(log.items[0]).toMatchObject({ action: 'session.created_for_scripts', target })
  expect((await account.delete(`${route}/${id}`)).status).toBe(204)
  expect(await statusOf(script)).toBe(401)
  const { items } = (await account.get('/v1/organization/audit-log')).body
  expect(items[0]).toMatchObject({ action: 'session.ended', target })
})

test('GET /v1/auth/sessions: where a script first used its session, at once', async () => {
  const script = await create()
  const find = async () =>
    (await account.get(route)).body.find(({ kind }: { kind: string }) => kind === 'script')
  expect(await find()).toMatchObject({ address: null, user_agent: null })
  await script.request('GET', '/v1/models', undefined, { 'user-agent': 'A script' })
  expect(await find()).toMatchObject({ address: '127.0.0.1', user_agent: 'A script' })
})

test('POST /v1/auth/sessions: needs the password or a code, also from an account with a second factor', async () => {
  const app = await addTotp(account, clock.now)
  const { email, password } = account
  expect(await signIn(server.url, account)).toMatchObject({ body: { code: 'second_factor_required' } })
  for (const [proof, code] of [
    [{ password: 'not my password' }, 'invalid_credentials'],
    [{ code: '000000' }, 'invalid_code'],
  ] as const) {
    expect(await account.post(route, { name, ...proof })).toMatchObject({ status: 401, body: { code } })
  }
  expect(await account.post(route, { name })).toMatchObject({ status: 403, body: { code: 'sign_in_again' } })
  for (const proof of [{ password }, { code: app.code() }, { password: null, code: app.code(1) }]) {
    const script = await create({ name, ...proof })
    expect((await script.get('/v1/auth/session')).body.user.email).toBe(email)
  }
  expect(await account.post(route, { name, code: app.code() })).toMatchObject({ status: 401 })
})

test('POST /v1/auth/sessions: an organization that requires a second factor accepts the session', async () => {
  const before = await create()
  await addTotp(account, clock.now)
  expect(await statusOf(before), 'it ends with the other sessions').toBe(401)
  const script = await create()
  expect((await account.patch('/v1/organization', { requires_second_factor: true })).status).toBe(200)
  for (let count = 0; count < 2; count += 1) expect((await script.get('/v1/models')).status).toBe(200)
})

test('a session for scripts ends only itself, and its wrong passwords do not lock out its owner', async () => {
  const { email, password } = account
  const script = await create()
  const browser = (await account.get(route)).body.find(({ current }: { current: boolean }) => current)
  for (const path of [route, `${route}/${browser.id}`]) {
    expect(await script.delete(path)).toMatchObject({ status: 403, body: { code: 'sign_in_again' } })
  }
  expect((await account.get('/v1/auth/session')).body.user.email).toBe(email)
  const change = { current_password: 'wrong', new_password: password }
  for (let count = 0; count < 11; count += 1) await script.post('/v1/user/password', change)
  const own = await account.post('/v1/user/password', { current_password: password, new_password: password })
  expect(own.status).toBe(204)
})

test('a session for scripts survives the sign-out of the browser, and ends with the other sessions', async () => {
  const { email, password } = account
  const endings: ((other: Client) => Promise<Answer>)[] = [
    (other) => other.delete(route),
    (other) => other.post('/v1/user/password', { current_password: password, new_password: password }),
    async () => {
      const user = server.application.db.selectFrom('users').select('id').where('email', '=', email)
      const token = await insertReset(server, (await user.executeTakeFirstOrThrow()).id)
      return account.post('/v1/auth/password-reset/confirm', { token, password })
    },
  ]
  for (const end of endings) {
    const { client } = await signIn(server.url, account)
    const script = toScript(await client.post(route, { name, password }))
    expect((await client.post('/v1/user/logout')).status).toBe(200)
    for (const path of ['/v1/auth/session', '/v1/models']) expect((await script.get(path)).status).toBe(200)
    const other = await signIn(server.url, account)
    expect((await end(other.client)).status).toBeLessThan(300)
    await vi.waitFor(async () => {
      for (const path of ['/v1/auth/session', '/v1/models']) expect((await script.get(path)).status).toBe(401)
    }, 20_000)
  }
})

test('POST /v1/auth/sessions: 20 for a person, exact under concurrency', async () => {
  const ids: number[] = []
  for (let count = 0; count < 17; count += 1) {
    ids.push((await account.post(route, { name, password: account.password })).body.id)
  }
  const { client: other } = await signIn(server.url, account)
  const clients = [account, other, account, other, account, other]
  const answers = await Promise.all(
    clients.map((client) => client.post(route, { name, password: account.password })),
  )
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(3)
  expect(answers.find(({ status }) => status === 409)?.body.code).toBe('too_many_script_sessions')
  await account.delete(`${route}/${ids[0]}`)
  await create()
})

test('POST /v1/auth/sessions: a session for scripts creates no other', async () => {
  const script = await create()
  expect(await script.post(route, { name, password: account.password })).toMatchObject({
    status: 403,
    body: { code: 'sign_in_again' },
  })
})

test('POST /v1/auth/sessions: nothing remains if the sessions of the person end meanwhile', async () => {
  const { id } = (await account.get('/v1/auth/session')).body.user
  const { db } = server.application
  let creating: Promise<Answer> | undefined
  await db.transaction().execute(async (transaction) => {
    await transaction.updateTable('users').set({ country: 'NO' }).where('id', '=', id).execute()
    creating = account.post(route, { name, password: account.password })
    const waiting = () =>
      db
        .selectFrom('pg_stat_activity' as never)
        .select('query' as never)
        .where('wait_event_type' as never, '=', 'Lock' as never)
        .where('datname' as never, '=', (eb) => eb.fn('current_database') as never)
        .execute()
    await vi.waitFor(async () => expect(await waiting()).not.toEqual([]), 20_000)
    await transaction.deleteFrom('sessions').where('user_id', '=', id).execute()
  })
  expect(await creating).toMatchObject({ status: 401, body: { code: 'not_authenticated' } })
  expect(await db.selectFrom('sessions').select('id').where('user_id', '=', id).execute()).toEqual([])
})

test('a session for scripts ends after 7 days without use, and after 30 days', async () => {
  const [unused, used] = [await create(), await create()]
  for (let days = 0; days < 29; days += 6) {
    expect(await statusOf(used)).toBe(200)
    clock.advance(6 * day)
  }
  expect(await statusOf(unused)).toBe(401)
  expect(await statusOf(used)).toBe(401)
})

test.each([{ name: '' }, { name: 'x'.repeat(101) }, { name: 'a\0b' }, {}, { name: 5 }])(
  'POST /v1/auth/sessions: %j is a 422',
  async (body) => {
    expect((await account.post(route, { password: account.password, ...body })).status).toBe(422)
  },
)
