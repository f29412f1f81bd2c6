import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient } from '../support/client.ts'
import { startSsoServer } from '../support/oidc-provider.ts'
import type { SsoServer } from '../support/oidc-provider.ts'

const password = 'correct horse battery'
const limit = 3

let server: SsoServer
beforeAll(async () => {
  server = await startSsoServer({
    settings: { TRUST_PROXY: 'loopback' },
    config: { networkLimits: { registrationsPerHour: 1_000, requestsPerMinute: limit } },
  })
})
afterAll(() => server.close())

let count = 0

const routes = {
  'POST /v1/user/register': () => ({
    email: `user-${(count += 1)}@example.com`,
    password,
    organization: 'A',
  }),
  'POST /v1/invitations/register': () => ({ token: 'A'.repeat(43), password }),
  // Ten failures of one account are a 429 too.
  'POST /v1/user/signin': () => ({ email: `nobody-${(count += 1)}@example.com`, password }),
  'POST /v1/auth/password-reset/request': () => ({ email: 'nobody@example.com' }),
  'POST /v1/auth/password-reset/confirm': () => ({ token: 'A'.repeat(43), password }),
  'POST /v1/invitations/sso/oidc/start': () => ({ token: 'A'.repeat(43) }),
  'GET /v1/sso/login/oidc': () => undefined,
  'GET /v1/sso/callback/oidc': () => undefined,
  'GET /v1/invitations/by-token/AAAA': () => undefined,
} satisfies Record<string, () => object | undefined>

function call(operation: keyof typeof routes, address: string, body: unknown = routes[operation]()) {
  const [method = '', path = ''] = operation.split(' ')
  return createClient(server.url).request(method, path, body, { 'x-forwarded-for': address })
}

test.each(Object.keys(routes) as (keyof typeof routes)[])(
  '%s: a network above its limit gets a 429, others do not',
  async (operation) => {
    for (let attempt = 0; attempt < limit; attempt += 1) {
      expect((await call(operation, '192.0.2.1')).status).not.toBe(429)
    }
    const refused = await call(operation, '192.0.2.1')
    expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited'])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await call(operation, '192.0.2.2')).status).not.toBe(429)
    // All addresses of an IPv6 /64 belong to one caller.
    for (let attempt = 0; attempt < limit; attempt += 1) await call(operation, `2001:db8::${attempt}`)
    expect((await call(operation, '2001:db8::ffff')).status).toBe(429)
    expect((await call(operation, '2001:db8:0:1::1')).status).not.toBe(429)
    // The machine itself is not limited.
    for (let attempt = 0; attempt <= limit; attempt += 1) {
      expect((await call(operation, '127.0.0.1')).status).not.toBe(429)
    }
  },
)

test('a refused request is neither read nor counted in the database', async () => {
  const { db } = server.application
  const operation = 'POST /v1/user/signin'
  for (let attempt = 0; attempt < limit; attempt += 1) await call(operation, '198.51.100.7')
  const read = async () => ({
    limits: await db.selectFrom('rate_limits').selectAll().orderBy('key').execute(),
    log: await db
      .selectFrom('audit_log')
      .select(({ fn }) => fn.countAll().as('rows'))
      .execute(),
  })
  const before = await read()
  expect((await call(operation, '198.51.100.7', '{"this is": not JSON')).status).toBe(429)
  expect(await read()).toEqual(before)
})

test('ports and other texts in X-Forwarded-For make no networks of their own', async () => {
  const login = 'GET /v1/sso/login/oidc'
  for (let attempt = 0; attempt < limit; attempt += 1) await call(login, `198.51.100.9:${50_000 + attempt}`)
  expect((await call(login, '198.51.100.9:60000')).status).toBe(429)
  for (let attempt = 0; attempt < limit; attempt += 1) await call(login, `any text ${attempt}`)
  expect((await call(login, 'another text')).status).toBe(429)
})
