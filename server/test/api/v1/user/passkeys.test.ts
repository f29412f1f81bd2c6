import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { registerClient } from '../../../support/client.ts'
import { createTestClock } from '../../../support/clock.ts'
import type { Account } from '../../../support/organizations.ts'
import { addPasskey, createAuthenticator } from '../../../support/passkeys.ts'
import { addTotp, signIn } from '../../../support/second-factors.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'
import { createClient } from '../../../support/client.ts'

const route = '/v1/user/second-factors'
const minute = 60_000
const refusal = { status: 401, body: { code: 'invalid_passkey' } }
const clock = createTestClock()

let server: TestServer
let site: string
let account: Account
beforeAll(async () => {
  server = await startTestServer({ worker: false, clock: clock.now })
  site = server.application.config.publicUrl.origin
})
afterAll(() => server.close())
beforeEach(async () => {
  account = await registerClient(server.url)
})

async function start(owner = account) {
  return (await owner.post(`${route}/passkeys/start`, { password: owner.password })).body.options
}

function add(response: unknown, owner = account) {
  return owner.post(`${route}/passkeys`, { name: 'Laptop', response })
}

/** The first step of a sign-in: the options for the passkey. */
async function challenge(owner = account) {
  const { status, body } = await signIn(server.url, owner)
  expect([status, body.code]).toEqual([401, 'second_factor_required'])
  return body.passkey_options
}

async function show(passkey: unknown, { email, password }: Pick<Account, 'email' | 'password'> = account) {
  const client = createClient(server.url)
  return { ...(await client.post('/v1/user/signin', { email, password, passkey })), client }
}

test('a passkey is a second factor: it signs in once with each challenge, and comes with recovery codes', async () => {
  const other = await signIn(server.url, account)
  const passkey = await addPasskey(account, site, 'Work laptop')
  expect(passkey.recoveryCodes).toHaveLength(10)
  expect((await other.client.get('/v1/auth/session')).status).toBe(401)
  expect((await account.get(route)).body).toEqual({
    totp: null,
    passkeys: [
      { id: expect.any(Number), name: 'Work laptop', created_at: expect.any(String), last_used_at: null },
    ],
    recovery_codes_left: 10,
  })
  const first = await signIn(server.url, account)
  expect(first).toMatchObject({
    status: 401,
    body: { code: 'second_factor_required', second_factors: ['passkey', 'recovery_code'] },
  })
  expect(first.client.cookie()).toBe('')
  const options = first.body.passkey_options
  expect(options).toMatchObject({ rpId: 'localhost', allowCredentials: [{ id: passkey.id }] })
  const signature = passkey.get(options)
  const answer = await show(signature)
  expect(answer.status).toBe(200)
  expect((await answer.client.get('/v1/auth/session')).status).toBe(200)
  expect(await show(signature)).toMatchObject(refusal)
  // The counter alone would allow this one.
  expect(await show(passkey.get(options))).toMatchObject(refusal)
  expect((await account.get(route)).body.passkeys[0].last_used_at).toEqual(expect.any(String))
  expect((await signIn(server.url, account, { code: passkey.recoveryCodes![0] })).status).toBe(200)
})

test('of several sign-ins at once with one signature, one succeeds', async () => {
  const passkey = await addPasskey(account, site)
  const signature = passkey.get(await challenge())
  const answers = await Promise.all(Array.from({ length: 4 }, () => show(signature)))
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 401, 401, 401])
})

test('a signature for another site, of another key, or over another challenge is a 401 invalid_passkey', async () => {
  const passkey = await addPasskey(account, site)
  const stranger = createAuthenticator(site)
  const options = await challenge()
  const honest = passkey.get(options, { counter: 10 })
  const damaged = Buffer.from(honest.response.signature, 'base64url')
  damaged[20]! ^= 1
  for (const forged of [
    passkey.get(options, { counter: 11, origin: 'https://berth.example.net' }),
    passkey.get(options, { counter: 11, rpId: 'example.net' }),
    passkey.get(options, { counter: 11, challenge: 'bm90IGEgY2hhbGxlbmdl' }),
    // Without the user's presence
    passkey.get(options, { counter: 11, flags: 0 }),
    stranger.get(options),
    { ...stranger.get(options), id: passkey.id, rawId: passkey.id },
    { ...honest, response: { ...honest.response, signature: damaged.toString('base64url') } },
    { ...honest, response: { ...honest.response, authenticatorData: '' } },
    { ...honest, response: { ...honest.response, clientDataJSON: 'e30' } },
  ]) {
    expect(await show(forged)).toMatchObject(refusal)
  }
  expect((await show(honest)).status).toBe(200)
})

test('the challenge and the passkey of another user are refused', async () => {
  const passkey = await addPasskey(account, site)
  const neighbor = await registerClient(server.url)
  const theirs = await addPasskey(neighbor, site)
  const options = await challenge()
  const theirOptions = await challenge(neighbor)
  expect(await show(passkey.get(theirOptions))).toMatchObject(refusal)
  expect(await show(theirs.get(options))).toMatchObject(refusal)
  expect((await show(passkey.get(options))).status).toBe(200)
  expect((await show(theirs.get(theirOptions), neighbor)).status).toBe(200)
})

test('a challenge expires after five minutes, and a counter that does not grow is refused', async () => {
  const passkey = await addPasskey(account, site)
  const late = await challenge()
  clock.advance(5 * minute)
  expect(await show(passkey.get(late))).toMatchObject(refusal)
  expect((await show(passkey.get(await challenge(), { counter: 50 }))).status).toBe(200)
  for (const counter of [50, 49, 0]) {
    expect(await show(passkey.get(await challenge(), { counter }))).toMatchObject(refusal)
  }
  expect((await show(passkey.get(await challenge(), { counter: 51 }))).status).toBe(200)
})

test('a wrong password says nothing about passkeys, and uses up no challenge', async () => {
  const passkey = await addPasskey(account, site)
  const signature = passkey.get(await challenge())
  expect(await show(signature, { email: account.email, password: 'a wrong guess' })).toMatchObject({
    status: 401,
    body: { code: 'invalid_credentials' },
  })
  expect((await show(signature)).status).toBe(200)
})

test('a new passkey needs the password and its own fresh challenge, once', async () => {
  expect((await account.post(`${route}/passkeys/start`, { password: 'not my password' })).status).toBe(401)
  const authenticator = createAuthenticator(site)
  const options = await start()
  expect(await add(authenticator.create(options, { origin: 'https://berth.example.net' }))).toMatchObject(
    refusal,
  )
  expect(await add(authenticator.create(options, { challenge: 'bm90IGEgY2hhbGxlbmdl' }))).toMatchObject(
    refusal,
  )
  const neighbor = await registerClient(server.url)
  expect(await add(authenticator.create(options), neighbor)).toMatchObject(refusal)
  const created = authenticator.create(options)
  expect((await add(created)).status).toBe(200)
  expect(await add(created)).toMatchObject(refusal)
  // The same credential with a new challenge
  expect(await add(authenticator.create(await start()))).toMatchObject({
    status: 409,
    body: { code: 'passkey_exists' },
  })
  const late = await start()
  clock.advance(5 * minute)
  expect(await add(createAuthenticator(site).create(late))).toMatchObject(refusal)
  // The challenge of a sign-in registers nothing.
  const other = createAuthenticator(site)
  const signInOptions = await challenge()
  expect(await add(other.create({ ...options, challenge: signInOptions.challenge }))).toMatchObject(refusal)
})

test('an account has at most 20 passkeys: 409 too_many_passkeys', async () => {
  await addPasskey(account, site)
  const { db } = server.application
  const newest = db.selectFrom('passkeys').selectAll().orderBy('id', 'desc')
  const { id: _, ...passkey } = await newest.executeTakeFirstOrThrow()
  const more = (count: number) =>
    Array.from({ length: count }, () => ({ ...passkey, credential_id: randomUUID() }))
  await db.insertInto('passkeys').values(more(18)).execute()
  expect((await addPasskey(account, site)).id).toBeDefined()
  expect(await account.post(`${route}/passkeys/start`, { password: account.password })).toMatchObject({
    status: 409,
    body: { code: 'too_many_passkeys' },
  })
})

test('hostile bodies are refused with a 401 or 422', async () => {
  const response = { clientDataJSON: 'e30', attestationObject: 'oA' }
  const credential = { id: 'YQ', rawId: 'YQ', type: 'public-key', clientExtensionResults: {} }
  for (const body of [
    { ...credential, response },
    { ...credential, response: { ...response, attestationObject: '_____' } },
    { ...credential, response: { clientDataJSON: 'bnVsbA', attestationObject: 'bnVsbA' } },
    { ...credential, type: 'password', response },
    { ...credential, response: null },
    { ...credential, id: 'not base64!', response },
    null,
  ]) {
    expect([401, 422]).toContain((await add(body)).status)
  }
  for (const passkey of [7, {}, { ...credential, response: {} }]) {
    expect((await show(passkey)).status).toBe(422)
  }
})

test('passkeys have names, are removed with the password, and the last factor takes the recovery codes along', async () => {
  await addPasskey(account, site, 'Laptop')
  const phone = await addPasskey(account, site, 'Phone')
  expect(phone.recoveryCodes).toBeNull()
  const { passkeys } = (await account.get(route)).body
  expect(passkeys.map((each: any) => each.name)).toEqual(['Laptop', 'Phone'])
  const [laptop] = passkeys
  const path = `${route}/passkeys/${laptop.id}`
  const { password } = account
  expect((await account.request('DELETE', path, { password: 'not my password' })).status).toBe(401)
  const neighbor = await registerClient(server.url)
  expect((await neighbor.request('DELETE', path, { password: neighbor.password })).status).toBe(404)
  expect((await account.request('DELETE', path, { password })).status).toBe(204)
  expect((await account.request('DELETE', path, { password })).status).toBe(404)
  expect((await account.get(route)).body.recovery_codes_left).toBe(10)
  expect(await challenge()).toMatchObject({ allowCredentials: [{ id: phone.id }] })
  const last = `${route}/passkeys/${passkeys[1].id}`
  expect((await account.request('DELETE', last, { password })).status).toBe(204)
  expect((await account.get(route)).body.recovery_codes_left).toBe(0)
  expect((await signIn(server.url, account)).status).toBe(200)
})

test('an account may have an app and passkeys, and removing one keeps the other and the recovery codes', async () => {
  const app = await addTotp(account, clock.now)
  const passkey = await addPasskey(account, site)
  expect(passkey.recoveryCodes).toBeNull()
  const first = await signIn(server.url, account)
  expect(first.body.second_factors).toEqual(['passkey', 'totp', 'recovery_code'])
  expect((await signIn(server.url, account, { code: app.code() })).status).toBe(200)
  const { password } = account
  expect((await account.request('DELETE', `${route}/totp`, { password })).status).toBe(204)
  expect((await account.get(route)).body).toMatchObject({ totp: null, recovery_codes_left: 10 })
  expect((await show(passkey.get(await challenge()))).status).toBe(200)
  const data = (await account.get('/v1/user/export')).body
  expect(data.second_factors).toEqual([
    { method: 'passkey', name: 'Laptop', added_at: expect.any(String), last_used_at: expect.any(String) },
  ])
  expect((await account.request('DELETE', '/v1/user', { password })).status).toBe(204)
  const rows = server.application.db.selectFrom('passkeys').select('id')
  expect(await rows.where('user_id', '=', data.account.id).execute()).toEqual([])
})

test('a passkey satisfies an organization that requires a second factor', async () => {
  await addPasskey(account, site)
  expect((await account.patch('/v1/organization', { requires_second_factor: true })).status).toBe(200)
  expect((await account.get('/v1/organization')).status).toBe(200)
  const { passkeys } = (await account.get(route)).body
  const { password } = account
  await account.request('DELETE', `${route}/passkeys/${passkeys[0].id}`, { password })
  expect(await account.get('/v1/organization')).toMatchObject({
    status: 403,
    body: { code: 'second_factor_setup_required' },
  })
})
