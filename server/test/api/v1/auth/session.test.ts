import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { watchSession } from '../../../../src/features/sessions/watch-session.ts'
import { createClient, registerClient } from '../../../support/client.ts'
import type { Client } from '../../../support/client.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const hour = 3_600_000
const day = 24 * hour

let now = Date.now()
let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ worker: false, clock: () => new Date(now) })
})
afterAll(() => server.close())

let client: Client & { email: string }
let start: number
beforeEach(async () => {
  client = await registerClient(server.url, { organization: 'Engines' })
  start = now
})

function getSession() {
  return client.get('/v1/auth/session')
}

test('GET /v1/auth/session: 401 without a session', async () => {
  const answer = await createClient(server.url).get('/v1/auth/session')
  expect(answer.status).toBe(401)
  expect(answer.body).toMatchObject({ status: 401, code: 'not_authenticated' })
})

test('GET /v1/auth/session: returns the session of the cookie', async () => {
  const answer = await getSession()
  expect(answer.status).toBe(200)
  expect(answer.body).toMatchObject({
    authenticated: true,
    user: { email: client.email, organization: 'Engines', role: { id: 1, name: 'super_admin' } },
    session: { auth_method: 'password', expires_at: new Date(start + 7 * day).toISOString() },
  })
})

test.each([
  ['no value', 'berth_session='],
  ['another token of the right length', `berth_session=${'A'.repeat(43)}`],
  ['invalid percent-encoding', 'berth_session=%zz%'],
  ['NUL', 'berth_session=%00'],
  ['a lone surrogate', 'berth_session=%ED%A0%80'],
  ['10,000 characters', `berth_session=${'x'.repeat(10_000)}`],
  ['an SQL injection', "berth_session=' OR 1=1 --"],
  ['another name', `sessions=${'A'.repeat(43)}`],
  ['no name', 'session'],
  ['only separators', ';;=;,'],
])('GET /v1/auth/session: a cookie with %s is a 401', async (_what, cookie) => {
  const answer = await createClient(server.url).request('GET', '/v1/auth/session', undefined, { cookie })
  expect(answer.status).toBe(401)
  expect(answer.body.code).toBe('not_authenticated')
})

test('GET /v1/auth/session: a token with one character changed is a 401', async () => {
  const [name, token = ''] = client.cookie().split('=')
  const changed = (token.startsWith('A') ? 'B' : 'A') + token.slice(1)
  client.setCookie(`${name}=${changed}`)
  expect((await getSession()).status).toBe(401)
})

test('GET /v1/auth/session: accepts no credentials other than the cookie', async () => {
  const token = client.cookie().split('=')[1] ?? ''
  for (const headers of [
    { authorization: `Bearer ${token}` },
    { authorization: `Basic ${btoa(`session:${token}`)}` },
    { session: token },
    { 'x-api-key': token },
  ] as Record<string, string>[]) {
    const answer = await createClient(server.url).request('GET', '/v1/auth/session', undefined, headers)
    expect(answer.status).toBe(401)
  }
  expect((await createClient(server.url).get(`/v1/auth/session?session=${token}`)).status).toBe(401)
})

test('GET /v1/auth/session: renews a session in use at most hourly and sends the cookie again', async () => {
  now = start + hour - 1
  const early = await getSession()
  expect(early.headers.get('set-cookie')).toBeNull()
  expect(early.body.session.expires_at).toBe(new Date(start + 7 * day).toISOString())

  now = start + hour
  const renewed = await getSession()
  expect(renewed.body.session.expires_at).toBe(new Date(now + 7 * day).toISOString())
  const cookie = renewed.headers.get('set-cookie') ?? ''
  expect(cookie.split(';')[0]).toBe(client.cookie())
  expect(Date.parse(/Expires=([^;]+)/.exec(cookie)?.[1] ?? '')).toBe(
    Math.floor((now + 7 * day) / 1000) * 1000,
  )
  for (const attribute of ['HttpOnly', 'Path=/', 'SameSite=Lax']) expect(cookie).toContain(attribute)

  now += hour - 1
  expect((await getSession()).headers.get('set-cookie')).toBeNull()
})

test('GET /v1/auth/session: of 10 concurrent requests, one renews the session', async () => {
  now = start + 2 * hour
  const answers = await Promise.all(Array.from({ length: 10 }, getSession))
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200))
  expect(answers.filter(({ headers }) => headers.has('set-cookie'))).toHaveLength(1)
})

test('GET /v1/auth/session: a session expires after 7 idle days', async () => {
  now = start + 7 * day - 1
  expect((await getSession()).status).toBe(200)
  now += 7 * day - 1
  expect((await getSession()).status).toBe(200)
  now += 7 * day
  expect((await getSession()).status).toBe(401)
})

test('GET /v1/auth/session: an open stream ends when its session expires', async () => {
  const token = client.cookie().split('=')[1]!
  const { id: userId } = (await getSession()).body.user
  const left = new AbortController()
  now = start + 7 * day - 20
  const over = watchSession(server.application, { isAllowed: async () => true, token, userId }, left.signal)
  expect(over.aborted).toBe(false)
  now = start + 7 * day
  await expect.poll(() => over.aborted).toBe(true)
  left.abort()
})

test('GET /v1/auth/session: a session in use expires after 30 days', async () => {
  const end = new Date(start + 30 * day).toISOString()
  for (now = start + 6 * day; now < start + 30 * day; now += 6 * day) {
    expect((await getSession()).status).toBe(200)
  }
  now = start + 30 * day - 1
  expect((await getSession()).body.session.expires_at).toBe(end)
  now = start + 30 * day
  expect((await getSession()).status).toBe(401)
})
