import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient } from '../support/client.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const limit = 2
const config = { networkLimits: { registrationsPerHour: limit, requestsPerMinute: 1_000 } }

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ worker: false, settings: { TRUST_PROXY: 'loopback' }, config })
})
afterAll(() => server.close())

let count = 0
const newEmail = () => `visitor-${(count += 1)}@example.com`

function register(address: string, email = newEmail()) {
  const body = { email, password: 'correct horse battery', organization: 'A' }
  const headers = { 'x-forwarded-for': address }
  return createClient(server.url).request('POST', '/v1/user/register', body, headers)
}

test('accounts that a network made count, refusals do not', async () => {
  const email = newEmail()
  expect((await register('192.0.2.1', email)).status).toBe(200)
  for (let attempt = 0; attempt <= limit; attempt += 1) {
    expect((await register('192.0.2.1', email)).body.code).toBe('email_taken')
    expect((await register('192.0.2.1', 'no address')).status).toBe(422)
  }
  expect((await register('192.0.2.1')).status).toBe(200)
  const refused = await register('192.0.2.1')
  expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3_500)
  expect((await register('192.0.2.2')).status).toBe(200)
})

test('private networks are limited only behind a trusted proxy', async () => {
  for (let made = 0; made < limit; made += 1) expect((await register('10.0.0.7')).status).toBe(200)
  expect((await register('10.0.0.7')).status).toBe(429)
  for (let made = 0; made <= limit; made += 1) expect((await register('127.0.0.1')).status).toBe(200)
})
