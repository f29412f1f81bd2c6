import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { signIn as checkSignIn } from '../../../../src/features/sign-in/sign-in.ts'
import { startPasswordSession } from '../../../../src/features/sign-in/start-password-session.ts'
import { disableUser } from '../../../../src/features/operators/disable-user.ts'
import { serverActor } from '../../../../src/base/viewer.ts'
import { registerClient } from '../../../support/client.ts'
import { createTestClock, day } from '../../../support/clock.ts'
import type { Account } from '../../../support/organizations.ts'
import { insertReset } from '../../../support/password-resets.ts'
import { addTotp, signIn } from '../../../support/second-factors.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const home = '192.0.2.10'
const elsewhere = '203.0.113.66'
const clock = createTestClock()

let server: TestServer
let account: Account
let app: Awaited<ReturnType<typeof addTotp>>
let userId: number
beforeAll(async () => {
  server = await startTestServer({
    worker: false,
    settings: { TRUST_PROXY: 'loopback' },
    config: { networkLimits: { registrationsPerHour: 10_000, requestsPerMinute: 10_000 } },
    clock: clock.now,
  })
})
afterAll(() => server.close())
beforeEach(async () => {
  // A new time step for each test
  clock.advance(60_000)
  account = await registerClient(server.url)
  userId = (await account.get('/v1/auth/session')).body.user.id
  app = await addTotp(account, clock.now)
})

const attempt = (code?: string, address?: string) =>
  signIn(server.url, account, { code, ...(address === undefined ? {} : { address }) })

function readRefusals() {
  return server.application.db
    .selectFrom('audit_log')
    .select(['action', 'details', 'result'])
    .where('target_id', '=', String(userId))
    .where('result', '=', 'refused')
    .execute()
}

test('POST /v1/user/signin: without a code a 401 second_factor_required and no session; with it a session', async () => {
  const first = await attempt()
  expect(first).toMatchObject({
    status: 401,
    body: { code: 'second_factor_required', second_factors: ['totp', 'recovery_code'] },
  })
  expect(first.headers.getSetCookie()).toEqual([])
  expect(first.client.cookie()).toBe('')
  const sessions = (await account.get('/v1/auth/sessions')).body
  expect(sessions).toHaveLength(1)
  const second = await attempt(` ${app.code().slice(0, 3)} ${app.code().slice(3)} `)
  expect(second.status).toBe(200)
  expect(second.body.session.auth_method).toBe('password')
  expect((await second.client.get('/v1/auth/session')).status).toBe(200)
})

test('a wrong password says nothing about the second factor, with or without a code', async () => {
  const guess = { email: account.email, password: 'a wrong guess' }
  const wrong = { status: 401, body: { code: 'invalid_credentials', detail: 'Invalid email or password.' } }
  expect(await signIn(server.url, guess)).toMatchObject(wrong)
  expect(await signIn(server.url, guess, { code: app.code() })).toMatchObject(wrong)
  expect(await signIn(server.url, guess, { code: app.recoveryCodes[0] })).toMatchObject(wrong)
  // Neither code was used up.
  expect((await attempt(app.recoveryCodes[0])).status).toBe(200)
  expect((await attempt(app.code())).status).toBe(200)
})

test('a code works once: not again, not an older one, not twice at once', async () => {
  const code = app.code()
  const answers = await Promise.all(Array.from({ length: 5 }, () => attempt(code)))
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 401, 401, 401, 401])
  expect(await attempt(code)).toMatchObject({ status: 401, body: { code: 'invalid_code' } })
  expect((await attempt(app.code(1))).status).toBe(200)
  expect((await attempt(app.code(-1))).status).toBe(401)
  expect((await attempt(code)).status).toBe(401)
})

test('a recovery code works once, also twice at once, and its use is emailed', async () => {
  const [code = '', next = ''] = app.recoveryCodes
  const answers = await Promise.all(Array.from({ length: 4 }, () => attempt(code.toUpperCase())))
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 401, 401, 401])
  expect((await attempt(code)).status).toBe(401)
  expect((await attempt(next)).status).toBe(200)
  const used = server.application.db.selectFrom('mails').select('kind').where('recipient', '=', account.email)
  expect(await used.where('kind', '=', 'recovery_code_used').execute()).toHaveLength(2)
  expect((await account.get('/v1/user/second-factors')).body.recovery_codes_left).toBe(8)
})

test('the codes of another user are wrong', async () => {
  const stranger = await registerClient(server.url)
  const foreign = await addTotp(stranger, clock.now)
  expect((await attempt(foreign.recoveryCodes[0])).status).toBe(401)
  if (foreign.code() !== app.code()) expect((await attempt(foreign.code())).status).toBe(401)
  expect((await signIn(server.url, stranger, { code: foreign.recoveryCodes[0] })).status).toBe(200)
})

test('twenty wrong codes stop guessing for a day, but neither recovery codes nor known networks', async () => {
  expect((await attempt(app.code(), home)).status).toBe(200)
  for (let count = 0; count < 20; count += 1) {
    expect((await attempt('000000', elsewhere)).status).toBe(401)
  }
  clock.advance(60_000)
  const refused = await attempt(app.code(), elsewhere)
  expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3_600)
  expect((await attempt(app.code(), home)).status).toBe(200)
  expect((await attempt(app.recoveryCodes[0], '198.51.100.7')).status).toBe(200)
  clock.advance(day)
  expect((await attempt(app.code(), '198.51.100.99')).status).toBe(200)
})

test('parallel guesses do not exceed the limit', async () => {
  const statuses: number[] = []
  for (let round = 0; round < 5; round += 1) {
    const answers = await Promise.all(Array.from({ length: 8 }, () => attempt('000000', elsewhere)))
    statuses.push(...answers.map(({ status }) => status))
  }
  expect(statuses.filter((status) => status === 401)).toHaveLength(20)
  expect(statuses.filter((status) => status === 429)).toHaveLength(20)
})

test('wrong codes count against their network', async () => {
  const address = '198.51.100.50'
  for (let round = 0; round < 5; round += 1) {
    account = await registerClient(server.url)
    app = await addTotp(account, clock.now)
    for (let count = 0; count < 20; count += 1) expect((await attempt('000000', address)).status).toBe(401)
  }
  expect((await attempt(app.recoveryCodes[0], address)).status).toBe(429)
  expect((await attempt(app.recoveryCodes[0], '198.51.100.51')).status).toBe(200)
})

test('an account without a second factor signs in as before, also with a code', async () => {
  const plain = await registerClient(server.url)
  expect((await signIn(server.url, plain)).status).toBe(200)
  expect((await signIn(server.url, plain, { code: '123456' })).status).toBe(200)
})

test('a password reset neither removes the second factor nor replaces it', async () => {
  const token = await insertReset(server, userId)
  const password = 'a longer engine'
  const answer = await account.post('/v1/auth/password-reset/confirm', { token, password })
  expect(answer.status).toBe(200)
  expect(answer.headers.getSetCookie()).toEqual([])
  account = { ...account, password }
  expect(await attempt()).toMatchObject({ status: 401, body: { code: 'second_factor_required' } })
  expect((await attempt(app.code())).status).toBe(200)
})

test('a disabled account is a 403 account_disabled that uses up no code', async () => {
  await disableUser(server.application, serverActor, userId, true)
  for (const code of [undefined, app.code(), '000000', app.recoveryCodes[0]]) {
    expect(await attempt(code)).toMatchObject({ status: 403, body: { code: 'account_disabled' } })
  }
  await disableUser(server.application, serverActor, userId, false)
  expect((await attempt(app.recoveryCodes[0])).status).toBe(200)
  expect((await attempt(app.code())).status).toBe(200)
})

test('a crash while the session starts leaves the code unused', async () => {
  const { db } = server.application
  await sql`CREATE FUNCTION fail_audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'crash'; END $$`.execute(
    db,
  )
  await sql`CREATE TRIGGER fail_audit BEFORE INSERT ON audit_log EXECUTE FUNCTION fail_audit()`.execute(db)
  try {
    for (const code of [app.code(), app.recoveryCodes[0]]) expect((await attempt(code)).status).toBe(500)
  } finally {
    await sql`DROP FUNCTION fail_audit() CASCADE`.execute(db)
  }
  for (const code of [app.code(), app.recoveryCodes[0]]) expect((await attempt(code)).status).toBe(200)
})

test('a factor that is set up while a sign-in runs is required by it', async () => {
  const plain = await registerClient(server.url)
  const checked = await checkSignIn(server.application, serverActor, plain)
  await addTotp(plain, clock.now)
  const session = startPasswordSession(server.application, serverActor, checked, null)
  await expect(session).rejects.toMatchObject({ code: 'second_factor_required' })
})

test('a right password without a code, and each wrong code, are in the audit log of the organization', async () => {
  await attempt(undefined, elsewhere)
  const requested = '/v1/organization/audit-log?action=session.second_factor_requested'
  expect((await account.get(requested)).body.items).toMatchObject([
    { actor: null, address: elsewhere, target: { id: String(userId) }, result: 'succeeded' },
  ])
  await attempt('000000', elsewhere)
  expect(await readRefusals()).toEqual([
    {
      action: 'session.sign_in_refused',
      details: { auth_method: 'password', step: 'second_factor' },
      result: 'refused',
    },
  ])
  await attempt(app.code())
  const log = (await account.get('/v1/organization/audit-log?action=session.started&limit=1')).body
  expect(log.items[0].details).toEqual({ auth_method: 'password', second_factor: 'totp' })
})
