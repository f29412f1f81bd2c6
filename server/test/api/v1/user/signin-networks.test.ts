import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient } from '../../../support/client.ts'
import { createTestClock, day } from '../../../support/clock.ts'
import { insertReset } from '../../../support/password-resets.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const password = 'correct horse battery'
const home = '192.0.2.10'
const homeV6 = '2001:db8:10::1'
const elsewhere = '203.0.113.66'
const clock = createTestClock()

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({
    worker: false,
    settings: { TRUST_PROXY: 'loopback' },
    config: { networkLimits: { registrationsPerHour: 10_000, requestsPerMinute: 10_000 } },
    clock: clock.now,
  })
})
afterAll(() => server.close())

function post(path: string, body: unknown, address: string) {
  return createClient(server.url).request('POST', path, body, { 'x-forwarded-for': address })
}

async function register(email: string, address: string): Promise<void> {
  expect((await post('/v1/user/register', { email, password, organization: 'A' }, address)).status).toBe(200)
}

async function signIn(email: string, address: string, guess = password): Promise<number> {
  return (await post('/v1/user/signin', { email, password: guess }, address)).status
}

async function fail(email: string, address: string, times = 10): Promise<void> {
  for (let attempt = 0; attempt < times; attempt += 1) {
    expect(await signIn(email, address, 'a wrong guess')).toBe(401)
  }
}

test('ten wrong passwords from elsewhere do not lock out an owner in a network of earlier sign-ins', async () => {
  const email = 'ada@example.com'
  await register(email, home)
  await fail(email, elsewhere)
  expect(await signIn(email, elsewhere)).toBe(429)
  expect(await signIn(email, '198.51.100.1')).toBe(429)
  expect(await signIn(email, home)).toBe(200)
  expect(await signIn(email, home)).toBe(200)
})

test('a known network has the same limit for itself, and its failures count elsewhere too', async () => {
  const email = 'bob@example.com'
  await register(email, homeV6)
  await fail(email, homeV6.replace('::1', '::2'))
  expect(await signIn(email, homeV6)).toBe(429)
  expect(await signIn(email, elsewhere)).toBe(429)
})

test('parallel guesses from a known network do not exceed the limit', async () => {
  const email = 'carol@example.com'
  await register(email, home)
  const guesses = Array.from({ length: 30 }, () => signIn(email, home, 'a wrong guess'))
  const statuses = await Promise.all(guesses)
  expect(statuses.filter((status) => status === 401)).toHaveLength(10)
})

test('after a reset from home, wrong passwords from elsewhere do not lock the owner out there', async () => {
  const email = 'grace@example.com'
  await register(email, home)
  const { id } = await server.application.db
    .selectFrom('users')
    .select('id')
    .where('email', '=', email)
    .executeTakeFirstOrThrow()
  const token = await insertReset(server, id)
  expect((await post('/v1/auth/password-reset/confirm', { token, password }, home)).status).toBe(200)
  await fail(email, elsewhere)
  expect(await signIn(email, home)).toBe(200)
  expect(await signIn(email, elsewhere)).toBe(429)
})

test('a network is deleted 90 days after its last sign-in', async () => {
  const email = 'dan@example.com'
  await register(email, home)
  clock.advance(91 * day)
  await fail(email, elsewhere)
  expect(await signIn(email, home)).toBe(429)
})
