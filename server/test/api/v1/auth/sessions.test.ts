import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createClient, registerClient } from '../../../support/client.ts'
import type { Client } from '../../../support/client.ts'
import { createTestClock } from '../../../support/clock.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const route = '/v1/auth/sessions'
const clock = createTestClock()

let server: TestServer
let client: Client & { email: string; password: string }
beforeAll(async () => {
  server = await startTestServer({ worker: false, clock: clock.now })
})
afterAll(() => server.close())
beforeEach(async () => {
  client = await registerClient(server.url)
})

async function signIn(userAgent: string): Promise<Client> {
  const other = createClient(server.url)
  const { email, password } = client
  const headers = { 'user-agent': userAgent }
  expect((await other.request('POST', '/v1/user/signin', { email, password }, headers)).status).toBe(200)
  return other
}

test('GET /v1/auth/sessions: where each session is used, the current one marked', async () => {
  const phone = await signIn('A phone')
  const { status, body } = await phone.get(route)
  expect(status).toBe(200)
  const time = expect.stringMatching(/^\d{4}-.*Z$/)
  const times = { created_at: time, expires_at: time, last_seen_at: time }
  const common = { id: expect.any(Number), kind: 'sign_in', name: null, address: '127.0.0.1', ...times }
  expect(body).toEqual([
    { ...common, user_agent: 'A phone', auth_method: 'password', current: true },
    { ...common, user_agent: expect.any(String), auth_method: 'password', current: false },
  ])
})

test('GET /v1/auth/sessions: the latest use, exact to ten minutes', async () => {
  const [before] = (await client.get(route)).body
  clock.advance(9 * 60_000)
  expect((await client.get(route)).body).toEqual([before])
  clock.advance(2 * 60_000)
  await client.request('GET', '/v1/auth/session', undefined, { 'user-agent': 'A new browser' })
  const [after] = (await client.get(route)).body
  expect(after).toMatchObject({ id: before.id, user_agent: 'A new browser' })
  expect(Date.parse(after.last_seen_at) - Date.parse(before.last_seen_at)).toBeGreaterThanOrEqual(11 * 60_000)
})

test('DELETE /v1/auth/sessions/{id}: ends that session; those of others are a 404', async () => {
  const phone = await signIn('A phone')
  const [{ id }] = (await phone.get(route)).body
  const stranger = await registerClient(server.url)
  expect((await stranger.delete(`${route}/${id}`)).status).toBe(404)
  expect((await client.delete(`${route}/${id}`)).status).toBe(204)
  expect((await phone.get('/v1/auth/session')).status).toBe(401)
  expect((await client.delete(`${route}/${id}`)).status).toBe(404)
})

test('DELETE /v1/auth/sessions: ends all but the current one', async () => {
  const others = [await signIn('A phone'), await signIn('A tablet')]
  expect((await client.delete(route)).status).toBe(204)
  for (const other of others) expect((await other.get('/v1/auth/session')).status).toBe(401)
  expect((await client.get(route)).body).toHaveLength(1)
})
