import { afterAll, beforeAll, expect, test } from 'vitest'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

let server: TestServer
let client: Client
beforeAll(async () => {
  server = await startTestServer({ worker: false, runtime: createScriptedRuntime() })
  client = await registerClient(server.url)
})
afterAll(() => server.close())

const askAgain = (path: string, tag: string, by = client) =>
  by.request('GET', path, undefined, { 'if-none-match': tag })

test.each([
  '/api/v1/model-deployments',
  '/api/v1/deployable-models',
  '/v1/auth/session',
  '/v1/billing/account',
  '/v1/billing/invoices',
  '/v1/billing/anomalies',
  '/v1/billing/budgets',
  '/v1/billing/own-budgets',
  '/v1/organization',
  '/v1/organization/invitations',
])('GET %s: 304 without a body until the response changes', async (path) => {
  const first = await client.get(path)
  const tag = first.headers.get('etag') ?? ''
  expect(tag).toMatch(/^W\/"[\w-]{22}"$/)
  const isPersonal = path === '/v1/auth/session' || path === '/v1/organization/invitations'
  expect(first.headers.get('cache-control')).toBe(isPersonal ? 'no-store' : 'private, no-cache')
  const second = await askAgain(path, `"other", ${tag}`)
  expect(second.status).toBe(304)
  expect(second.body).toBe('')
  expect(second.headers.get('etag')).toBe(tag)
  expect((await askAgain(path, 'W/"another"')).body).toEqual(first.body)
})

test('a change gives the response a new ETag', async () => {
  const path = '/api/v1/model-deployments'
  const tag = (await client.get(path)).headers.get('etag') ?? 'missing'
  await client.post(path, { model_name: 'berth-tiny' })
  const changed = await askAgain(path, tag)
  expect(changed.status).toBe(200)
  expect(changed.body.total).toBe(1)
  expect(changed.headers.get('etag')).toMatch(/^W/)
  expect(changed.headers.get('etag')).not.toBe(tag)
})

test('a 304 still requires the session', async () => {
  const tag = (await client.get('/v1/billing/account')).headers.get('etag') ?? ''
  const own = await registerClient(server.url)
  await own.post('/v1/user/logout')
  expect((await askAgain('/v1/billing/account', tag, own)).status).toBe(401)
})

test('errors and responses to other methods have no ETag', async () => {
  const missing = await client.get('/api/v1/model-deployments/00000000-0000-4000-8000-000000000000')
  expect(missing.headers.get('etag')).toBeNull()
  const created = await client.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })
  expect(created.headers.get('etag')).toBeNull()
})
