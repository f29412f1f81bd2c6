import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient, registerClient } from '../../../support/client.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ worker: false })
})
afterAll(() => server.close())

test('POST /v1/user/logout: ends the session at once and clears the cookie', async () => {
  const client = await registerClient(server.url)
  const cookie = client.cookie()
  const answer = await client.post('/v1/user/logout')
  expect(answer.status).toBe(200)
  expect(answer.body).toEqual({ authenticated: false })
  const cleared = answer.headers.get('set-cookie') ?? ''
  expect(cleared).toMatch(/^berth_session=;/)
  expect(Date.parse(/Expires=([^;]+)/.exec(cleared)?.[1] ?? '')).toBeLessThan(Date.now())
  for (const attribute of ['HttpOnly', 'Path=/', 'SameSite=Lax']) expect(cleared).toContain(attribute)

  const thief = createClient(server.url)
  thief.setCookie(cookie)
  for (const path of ['/v1/auth/session', '/api/v1/model-deployments', '/v1/models']) {
    expect((await thief.get(path)).status).toBe(401)
  }
  expect((await thief.post('/v1/user/logout')).status).toBe(401)
})

test('POST /v1/user/logout: keeps all other sessions', async () => {
  const client = await registerClient(server.url)
  const elsewhere = createClient(server.url)
  await elsewhere.post('/v1/user/signin', { email: client.email, password: client.password })
  const other = await registerClient(server.url)
  expect((await client.post('/v1/user/logout')).status).toBe(200)
  expect((await elsewhere.get('/v1/auth/session')).status).toBe(200)
  expect((await other.get('/v1/auth/session')).status).toBe(200)
})

test('POST /v1/user/logout: 401 without a session', async () => {
  const answer = await createClient(server.url).post('/v1/user/logout')
  expect(answer.status).toBe(401)
  expect(answer.body.code).toBe('not_authenticated')
})

test('POST /v1/user/logout: accepts an empty body and a JSON body', async () => {
  for (const body of ['', '{}']) {
    const client = await registerClient(server.url)
    expect((await client.post('/v1/user/logout', body)).status).toBe(200)
  }
})
