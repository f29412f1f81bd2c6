import { afterEach, beforeAll, afterAll, expect, test } from 'vitest'
import { createClient, registerClient } from '../../support/client.ts'
import { authorize, newPerson, startSsoServer } from '../../support/oidc-provider.ts'
import type { SsoServer, TestProvider } from '../../support/oidc-provider.ts'
import { invite } from '../../support/organizations.ts'
import { startTestServer } from '../../support/server.ts'

const unavailable = '/sign-in?error=sso_unavailable'

let server: SsoServer
beforeAll(async () => {
  server = await startSsoServer()
})
afterEach(() => server.provider.setFault(null))
afterAll(() => server.close())

type Fault = Parameters<TestProvider['setFault']>[0]

/** Makes the provider cut every connection to URLs that start with `path`. */
function cut(path: string): Fault {
  return ({ url, socket }) => {
    if (url?.startsWith(path) !== true) return false
    socket.destroy()
    return true
  }
}

function answer(path: string, status: number, body: string): Fault {
  return ({ url }, response) => {
    if (url?.startsWith(path) !== true) return false
    response.writeHead(status, { 'content-type': 'application/json' }).end(body)
    return true
  }
}

test('GET /v1/sso/login/{p}: while the provider is down, the sign-in page says so; it works again afterwards', async () => {
  const browser = server.browse()
  for (const fault of [cut('/'), answer('/', 503, '{}'), answer('/', 200, '{"issuer":1}')]) {
    server.provider.setFault(fault)
    const login = await browser.open('/v1/sso/login/oidc')
    expect([login.status, login.location]).toEqual([302, unavailable])
    expect(browser.cookie('sso_flow')).toBeUndefined()
  }
  const inviter = await registerClient(server.url)
  const { token } = await invite(server, inviter, { email: newPerson().email })
  const started = await browser.post('/v1/invitations/sso/oidc/start', { token })
  expect([started.status, started.body.code]).toEqual([503, 'sso_unavailable'])
  expect(started.headers.get('retry-after')).toBe('60')

  server.provider.setFault(null)
  const callback = await authorize(server, browser, newPerson())
  expect((await browser.open(callback.href)).location).toBe('/')
})

test.each([
  ['the token endpoint drops the connection', cut('/token'), 'sso_unavailable'],
  ['the token endpoint returns 503', answer('/token', 503, 'no'), 'sso_unavailable'],
  ['the token endpoint returns invalid JSON', answer('/token', 200, '<p>'), 'sso_failed'],
  ['the userinfo endpoint drops the connection', cut('/me'), 'sso_unavailable'],
  ['the userinfo endpoint returns another subject', answer('/me', 200, '{"sub":"x"}'), 'sso_failed'],
])('GET /v1/sso/callback/{p}: the provider fails midway: %s', async (_what, fault, code) => {
  await expectFailure(server, fault, code)
})

test('GET /v1/sso/callback/{p}: rejects every ID token when the provider’s keys are unavailable', async () => {
  const fresh = await startSsoServer()
  try {
    await expectFailure(fresh, cut('/jwks'), 'sso_unavailable')
  } finally {
    await fresh.close()
  }
})

async function expectFailure(server: SsoServer, fault: Fault, code: string): Promise<void> {
  const users = server.application.db.selectFrom('users').select('id')
  const before = await users.execute()
  const browser = server.browse()
  const callback = await authorize(server, browser, newPerson())
  server.provider.setFault(fault)
  const { status, location } = await browser.open(callback.href)
  expect([status, location]).toEqual([302, `/sign-in?error=${code}`])
  expect(browser.cookie('berth_session')).toBeUndefined()
  expect(await users.execute()).toEqual(before)
}

test('GET /v1/sso/providers: empty without configuration; login, callback and start are 404s', async () => {
  const off = await startTestServer({ worker: false })
  try {
    const client = createClient(off.url)
    expect((await client.get('/v1/sso/providers')).body).toEqual({ providers: [] })
    expect((await client.get('/v1/sso/login/oidc')).status).toBe(404)
    expect((await client.get('/v1/sso/callback/oidc?code=a&state=b')).status).toBe(404)
    const started = await client.post('/v1/invitations/sso/oidc/start', { token: 'a' })
    expect([started.status, started.body.code]).toEqual([404, 'not_found'])
  } finally {
    await off.close()
  }
})

test('neither the database nor the log contains secrets of a flow or session', async () => {
  const browser = server.browse()
  const { location } = await browser.open('/v1/sso/login/oidc')
  const flow = browser.cookie('sso_flow')?.value ?? ''
  const state = new URL(location).searchParams.get('state') ?? ''
  expect(await dumpDatabase()).not.toContain(flow)
  expect(await dumpDatabase()).not.toContain(state)
  const { code_verifier: verifier } = await server.application.db
    .selectFrom('sso_flows')
    .select('code_verifier')
    .orderBy('expires_at', 'desc')
    .executeTakeFirstOrThrow()
  const callback = await authorize(server, browser, newPerson(), location)
  const code = callback.searchParams.get('code') ?? ''
  await browser.open(callback.href)
  await browser.open(callback.href)
  const session = browser.cookie('berth_session')?.value ?? ''
  const dump = await dumpDatabase()
  const log = server.logs.join('')
  for (const secret of [flow, state, verifier, code, session]) {
    expect(secret.length).toBeGreaterThan(20)
    expect(dump).not.toContain(secret)
    expect(log).not.toContain(secret)
  }
  expect(log).not.toContain('a client secret')
})

async function dumpDatabase(): Promise<string> {
  const { db } = server.application
  const tables = await db.introspection.getTables()
  const rows = await Promise.all(
    tables
      .filter(({ schema }) => schema === 'public')
      .map(({ name }) =>
        db
          .selectFrom(name as 'users')
          .selectAll()
          .execute(),
      ),
  )
  const text = (_key: string, value: unknown) =>
    value instanceof Object && 'type' in value && value.type === 'Buffer'
      ? Buffer.from((value as unknown as { data: number[] }).data).toString('latin1')
      : value
  return JSON.stringify(rows, text)
}

test('expired flows are deleted', async () => {
  let now = Date.now()
  const hourly = await startSsoServer({ worker: true, clock: () => new Date(now) })
  try {
    const { db, jobs } = hourly.application
    const flows = () => db.selectFrom('sso_flows').select('expires_at').execute()
    await hourly.browse().open('/v1/sso/login/oidc')
    now += 600_000
    await hourly.browse().open('/v1/sso/login/oidc')
    expect(await flows()).toHaveLength(2)
    await jobs.enqueue(db, 'delete-expired-sso-flows', null)
    await expect.poll(flows).toEqual([{ expires_at: new Date(now + 600_000) }])
  } finally {
    await hourly.close()
  }
})
