import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createClient, registerClient } from '../../../support/client.ts'
import type { Client } from '../../../support/client.ts'
import { createTestClock } from '../../../support/clock.ts'
import { linkIdentity } from '../../../support/matrix-resources.ts'
import type { Account } from '../../../support/organizations.ts'
import { addPasskey } from '../../../support/passkeys.ts'
import type { Authenticator } from '../../../support/passkeys.ts'
import { addTotp, signIn } from '../../../support/second-factors.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const route = '/v1/user/second-factors'
const refusal = { status: 401, body: { code: 'invalid_passkey' } }
const clock = createTestClock()

let server: TestServer
let site: string
let account: Account
let key: Authenticator
beforeAll(async () => {
  server = await startTestServer({ worker: false, clock: clock.now })
  site = server.application.config.publicUrl.origin
})
afterAll(() => server.close())
beforeEach(async () => {
  account = await registerClient(server.url)
  key = await addPasskey(account, site)
})

/** The options of a challenge for a person's session. */
async function challenge(owner: Client = account) {
  const { status, body } = await owner.post(`${route}/passkeys/challenge`)
  expect([status, body.code]).toEqual([200, undefined])
  return body.options
}

/** The options of the second step of a sign-in. */
async function signInChallenge() {
  return (await signIn(server.url, account)).body.passkey_options
}

/** An action that needs a confirmation. */
function rotate(passkey: unknown, owner: Client = account) {
  return owner.post(`${route}/recovery-codes`, { passkey })
}

async function listIds(): Promise<number[]> {
  return (await account.get(route)).body.passkeys.map(({ id }: any) => id)
}

test('a passkey confirms each action that the password confirms, once for each challenge', async () => {
  const options = await challenge()
  expect(options).toMatchObject({ rpId: 'localhost', allowCredentials: [{ id: key.id }] })
  const sign = async () => ({ passkey: key.get(await challenge()) })
  expect((await account.post(`${route}/recovery-codes`, await sign())).body.recovery_codes).toHaveLength(10)
  expect((await account.post(`${route}/totp`, await sign())).body.secret).toEqual(expect.any(String))
  expect((await account.post(`${route}/passkeys/start`, await sign())).body.options).toBeDefined()
  await addTotp(account, clock.now)
  expect((await account.request('DELETE', `${route}/totp`, await sign())).status).toBe(204)
  const script = { name: 'Report', ...(await sign()) }
  expect((await account.post('/v1/auth/sessions', script)).status).toBe(201)
  const spare = await addPasskey(account, site, 'Phone')
  const [laptop] = await listIds()
  expect((await account.request('DELETE', `${route}/passkeys/${laptop}`, await sign())).status).toBe(204)
  const last = { passkey: spare.get(await challenge()) }
  expect((await account.request('DELETE', '/v1/user', last)).status).toBe(204)
  expect((await account.get('/v1/auth/session')).status).toBe(401)
})

test('a passkey confirms the end of a link to an identity provider', async () => {
  const id = await linkIdentity({ server }, account.email)
  const path = `/v1/user/identities/${id}`
  expect(await account.request('DELETE', path, { passkey: key.get(await signInChallenge()) })).toMatchObject(
    refusal,
  )
  expect((await account.request('DELETE', path, { passkey: key.get(await challenge()) })).status).toBe(204)
})

test('the challenge of a sign-in confirms nothing, and the challenge of a confirmation signs in nobody', async () => {
  expect(await rotate(key.get(await signInChallenge()))).toMatchObject(refusal)
  const { email, password } = account
  const passkey = key.get(await challenge())
  expect(await createClient(server.url).post('/v1/user/signin', { email, password, passkey })).toMatchObject(
    refusal,
  )
  // The refused sign-in used up neither the challenge nor the counter.
  expect((await rotate(passkey)).status).toBe(200)
})

test('the challenge of a new passkey confirms nothing, and a confirmation adds no passkey', async () => {
  const started = await account.post(`${route}/passkeys/start`, { password: account.password })
  const { challenge: registration } = started.body.options
  const options = await challenge()
  expect(await rotate(key.get(options, { challenge: registration }))).toMatchObject(refusal)
  const response = key.create({ ...started.body.options, challenge: options.challenge })
  expect(await account.post(`${route}/passkeys`, { name: 'Other', response })).toMatchObject(refusal)
})

test('a challenge belongs to one person and one session', async () => {
  const { email, password } = account
  const other = createClient(server.url)
  const factor = { passkey: key.get(await signInChallenge()) }
  expect((await other.post('/v1/user/signin', { email, password, ...factor })).status).toBe(200)
  const neighbor = await registerClient(server.url)
  const theirs = await addPasskey(neighbor, site)
  const own = await challenge()
  expect(await rotate(key.get(own), other)).toMatchObject(refusal)
  expect(await rotate(theirs.get(own), neighbor)).toMatchObject(refusal)
  expect(await rotate(theirs.get(own))).toMatchObject(refusal)
  expect(await rotate(theirs.get(await challenge(neighbor)))).toMatchObject(refusal)
  expect(await rotate(key.get(await challenge(neighbor)))).toMatchObject(refusal)
  expect((await rotate(key.get(own))).status).toBe(200)
})

test('of several actions at once with one signature, one succeeds, and later ones fail', async () => {
  const options = await challenge()
  const passkey = key.get(options)
  const answers = await Promise.all(Array.from({ length: 4 }, () => rotate(passkey)))
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 401, 401, 401])
  expect(await rotate(passkey)).toMatchObject(refusal)
  // The counter alone would allow this one.
  expect(await rotate(key.get(options))).toMatchObject(refusal)
})

test('a challenge ends after five minutes, with its session, and with the next challenge', async () => {
  const late = await challenge()
  clock.advance(5 * 60_000)
  expect(await rotate(key.get(late))).toMatchObject(refusal)
  const earlier = await challenge()
  const later = await challenge()
  expect(await rotate(key.get(earlier))).toMatchObject(refusal)
  expect((await rotate(key.get(later))).status).toBe(200)
  await challenge()
  const { id } = (await account.get('/v1/auth/session')).body.user
  await account.post('/v1/user/logout')
  const challenges = server.application.db.selectFrom('passkey_challenges').select('purpose')
  const left = await challenges.where('user_id', '=', id).where('session_id', 'is not', null).execute()
  expect(left).toEqual([])
})

test('a removed passkey confirms nothing, not even with an earlier challenge', async () => {
  const spare = await addPasskey(account, site, 'Phone')
  const [laptop] = await listIds()
  const options = await challenge()
  const { password } = account
  expect((await account.request('DELETE', `${route}/passkeys/${laptop}`, { password })).status).toBe(204)
  expect(await rotate(key.get(options))).toMatchObject(refusal)
  expect((await rotate(spare.get(options))).status).toBe(200)
})

test('a signature for another site, of another key, or with a counter that went back is refused', async () => {
  expect((await rotate(key.get(await challenge(), { counter: 50 }))).status).toBe(200)
  for (const faults of [
    { origin: 'https://berth.example.net' },
    { rpId: 'example.net' },
    { challenge: 'bm90IGEgY2hhbGxlbmdl' },
    { flags: 0 },
  ]) {
    expect(await rotate(key.get(await challenge(), { ...faults, counter: 60 }))).toMatchObject(refusal)
  }
  expect(await rotate(key.get(await challenge(), { counter: 50 }))).toMatchObject(refusal)
  expect((await rotate(key.get(await challenge(), { counter: 61 }))).status).toBe(200)
})

test('a refused passkey is recorded, and does not count against the password or codes', async () => {
  for (let attempt = 0; attempt < 25; attempt++) {
    const passkey = key.get(await challenge(), { challenge: 'bm90IGEgY2hhbGxlbmdl' })
    expect(await account.request('DELETE', '/v1/user', { passkey })).toMatchObject(refusal)
  }
  const { items } = (await account.get('/v1/organization/audit-log?action=user.deleted')).body
  expect(items[0]).toMatchObject({ result: 'refused', details: { code: 'invalid_passkey' } })
  const { password } = account
  expect((await account.post(`${route}/recovery-codes`, { password })).status).toBe(200)
})

test('an account without a passkey gets no challenge: 409 no_second_factor', async () => {
  const neighbor = await registerClient(server.url)
  expect(await neighbor.post(`${route}/passkeys/challenge`)).toMatchObject({
    status: 409,
    body: { code: 'no_second_factor' },
  })
})
