import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createClient, registerClient } from '../../../support/client.ts'
import { createTestClock } from '../../../support/clock.ts'
import { newPerson, signInAs, startSsoServer } from '../../../support/oidc-provider.ts'
import type { SsoServer } from '../../../support/oidc-provider.ts'
import type { Account } from '../../../support/organizations.ts'
import { addTotp, startTotp, signIn } from '../../../support/second-factors.ts'

const route = '/v1/user/second-factors'
const minute = 60_000
const clock = createTestClock()

let server: SsoServer
let account: Account
beforeAll(async () => {
  server = await startSsoServer({ clock: clock.now })
})
afterAll(() => server.close())
beforeEach(async () => {
  account = await registerClient(server.url)
})

async function readMails(): Promise<string[]> {
  const mails = server.application.db
    .selectFrom('mails')
    .select('kind')
    .where('recipient', '=', account.email)
  return (await mails.orderBy('id').execute()).map(({ kind }) => kind)
}

test('an authenticator app counts after its first code, which ends the other sessions and gives ten recovery codes', async () => {
  const other = await signIn(server.url, account)
  expect((await account.get(route)).body).toEqual({ totp: null, passkeys: [], recovery_codes_left: 0 })
  const app = await startTotp(account, clock.now)
  expect((await account.get(route)).body).toEqual({ totp: null, passkeys: [], recovery_codes_left: 0 })
  const confirmed = await account.post(`${route}/totp/verify`, { code: app.code() })
  expect(confirmed.status).toBe(200)
  expect(confirmed.headers.get('cache-control')).toContain('no-store')
  expect(new Set(confirmed.body.recovery_codes).size).toBe(10)
  expect((await account.get(route)).body).toEqual({
    totp: { created_at: expect.any(String), last_used_at: expect.any(String) },
    passkeys: [],
    recovery_codes_left: 10,
  })
  expect((await account.get('/v1/auth/session')).status).toBe(200)
  expect((await other.client.get('/v1/auth/session')).status).toBe(401)
  expect(await readMails()).toContain('second_factor_added')
})

test('an unfinished setup changes no sign-in, and expires after 15 minutes', async () => {
  const app = await startTotp(account, clock.now)
  expect((await signIn(server.url, account)).status).toBe(200)
  expect((await signIn(server.url, account, { code: app.code() })).status).toBe(200)
  clock.advance(15 * minute)
  expect(await account.post(`${route}/totp/verify`, { code: app.code() })).toMatchObject({
    status: 409,
    body: { code: 'setup_not_started' },
  })
  expect((await account.get(route)).body.totp).toBeNull()
})

test('the second setup replaces an unfinished first one; a finished one is a 409 authenticator_app_exists', async () => {
  const first = await startTotp(account, clock.now)
  const second = await startTotp(account, clock.now)
  const confirm = `${route}/totp/verify`
  expect(await account.post(confirm, { code: first.code() })).toMatchObject({
    status: 401,
    body: { code: 'invalid_code' },
  })
  expect((await account.post(confirm, { code: second.code() })).status).toBe(200)
  expect((await account.post(confirm, { code: second.code(1) })).status).toBe(409)
  expect(await account.post(`${route}/totp`, { password: account.password })).toMatchObject({
    status: 409,
    body: { code: 'authenticator_app_exists' },
  })
})

test('two confirmations at once: one succeeds, and its recovery codes are the ones that work', async () => {
  const app = await startTotp(account, clock.now)
  const answers = await Promise.all(
    [1, 2].map(() => account.post(`${route}/totp/verify`, { code: app.code() })),
  )
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409])
  const [code] = answers.find(({ status }) => status === 200)!.body.recovery_codes
  expect((await signIn(server.url, account, { code })).status).toBe(200)
})

test('a setup needs the password; an account without one is a 409 no_password', async () => {
  for (const [body, status, code] of [
    [{ password: 'not my password' }, 401, 'invalid_credentials'],
    [{ code: '123456' }, 401, 'invalid_code'],
    [{}, 422, 'validation_failed'],
  ] as const) {
    expect(await account.post(`${route}/totp`, body)).toMatchObject({ status, body: { code } })
  }
  const browser = server.browse()
  await signInAs(server, browser, newPerson())
  const ssoClient = createClient(server.url)
  ssoClient.setCookie(`berth_session=${browser.cookie('berth_session')!.value}`)
  expect(await ssoClient.post(`${route}/totp`, { password: 'anything' })).toMatchObject({
    status: 409,
    body: { code: 'no_password' },
  })
})

test('the secret is stored encrypted and recovery codes as hashes, and no log has either', async () => {
  const { body: setUp } = await account.post(`${route}/totp`, { password: account.password })
  const { rows } = await sql<{ secret: Buffer }>`SELECT secret FROM totp_factors`.execute(
    server.application.db,
  )
  expect(rows.length).toBeGreaterThan(0)
  for (const { secret } of rows) expect(secret.length).toBe(12 + 16 + 20)
  const { recoveryCodes } = await addTotp(await registerClient(server.url), clock.now)
  const stored = await sql`SELECT * FROM recovery_codes`.execute(server.application.db)
  const everything = JSON.stringify([server.logs, stored.rows, await readAudit()])
  for (const secret of [setUp.secret, ...recoveryCodes]) expect(everything).not.toContain(secret)
})

function readAudit() {
  return server.application.db.selectFrom('audit_log').selectAll().execute()
}

test('removal and renewal need the password or an unused code', async () => {
  const app = await addTotp(account, clock.now)
  const [recovery = ''] = app.recoveryCodes
  const renewal = `${route}/recovery-codes`
  for (const [method, path] of [
    ['POST', renewal],
    ['DELETE', `${route}/totp`],
  ] as const) {
    for (const body of [{ password: 'not my password' }, { code: '000000' }, { code: 'abcd-efgh' }]) {
      expect((await account.request(method, path, body)).status).toBe(401)
    }
    // The code that confirmed the app
    expect((await account.request(method, path, { code: app.code(-1) })).status).toBe(401)
    expect((await account.request(method, path, {})).status).toBe(422)
  }
  const renewed = await account.post(renewal, { code: app.code() })
  expect(renewed.status).toBe(200)
  expect((await account.post(renewal, { code: app.code() })).status).toBe(401)
  expect((await signIn(server.url, account, { code: recovery })).status).toBe(401)
  const [fresh] = renewed.body.recovery_codes
  expect((await account.request('DELETE', `${route}/totp`, { code: fresh })).status).toBe(204)
  expect((await account.get(route)).body).toEqual({ totp: null, passkeys: [], recovery_codes_left: 0 })
  expect((await signIn(server.url, account)).status).toBe(200)
  expect(await readMails()).toEqual(
    expect.arrayContaining(['recovery_codes_rotated', 'second_factor_deleted']),
  )
  expect((await account.request('DELETE', `${route}/totp`, { password: account.password })).status).toBe(409)
  expect((await account.post(renewal, { password: account.password })).status).toBe(409)
})

test('a removal ends the other sessions', async () => {
  const app = await addTotp(account, clock.now)
  const other = await signIn(server.url, account, { code: app.code() })
  expect(other.status).toBe(200)
  const { password } = account
  expect((await account.request('DELETE', `${route}/totp`, { password })).status).toBe(204)
  expect((await other.client.get('/v1/auth/session')).status).toBe(401)
  expect((await account.get('/v1/auth/session')).status).toBe(200)
})

test('ten wrong codes within a session are a 429 there, and sign-ins go on', async () => {
  const app = await addTotp(account, clock.now)
  for (let count = 0; count < 10; count += 1) {
    expect((await account.post(`${route}/recovery-codes`, { code: '000000' })).status).toBe(401)
  }
  expect((await account.post(`${route}/recovery-codes`, { code: app.code() })).status).toBe(429)
  expect((await signIn(server.url, account, { code: app.code() })).status).toBe(200)
})

test('twenty wrong codes a day within a session are a 429 until the next day; the password still works', async () => {
  const app = await addTotp(account, clock.now)
  const renew = async (proof: object) => (await account.post(`${route}/recovery-codes`, proof)).status
  for (let count = 0; count < 20; count += 1) {
    if (count === 10) clock.advance(15 * minute)
    expect(await renew({ code: '000000' })).toBe(401)
  }
  clock.advance(15 * minute)
  expect(await renew({ code: app.code() })).toBe(429)
  expect(await renew({ password: account.password })).toBe(200)
  clock.advance(24 * 60 * minute)
  expect(await renew({ code: app.code() })).toBe(200)
})

test('export has the second factor without its secret; deletion of the account removes it', async () => {
  await addTotp(account, clock.now)
  const data = (await account.get('/v1/user/export')).body
  expect(data.second_factors).toEqual([
    { method: 'totp', added_at: expect.any(String), last_used_at: expect.any(String) },
  ])
  expect(data.account).toMatchObject({ recovery_codes_left: 10 })
  const { id } = data.account
  expect((await account.request('DELETE', '/v1/user', { password: account.password })).status).toBe(204)
  for (const table of ['totp_factors', 'recovery_codes'] as const) {
    const rows = server.application.db.selectFrom(table).select('user_id').where('user_id', '=', id)
    expect(await rows.execute()).toEqual([])
  }
})
