import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient, registerClient } from '../../support/client.ts'
import { startTestServer } from '../../support/server.ts'
import type { TestServer } from '../../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ worker: false })
})
afterAll(() => server.close())

test('GET /v1/auth/session: 401 without a session', async () => {
  const answer = await createClient(server.url).get('/v1/auth/session')
  expect(answer.status).toBe(401)
  expect(answer.body).toMatchObject({ status: 401, code: 'not_authenticated' })
})

test('GET /v1/auth/session: the session of the cookie', async () => {
  const client = await registerClient(server.url, { email: 'Ada@Example.com', organization: 'Engines' })
  const answer = await client.get('/v1/auth/session')
  expect(answer.status).toBe(200)
  expect(answer.body).toMatchObject({
    authenticated: true,
    user: { email: 'Ada@Example.com', organization: 'Engines', role: { id: 1, name: 'super_admin' } },
    session: { auth_method: 'password' },
  })
})
