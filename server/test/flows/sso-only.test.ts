import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient, registerClient } from '../support/client.ts'
import { createTestClock, day, hour } from '../support/clock.ts'
import { newPerson, signInAs, startSsoServer } from '../support/oidc-provider.ts'
import type { SsoServer } from '../support/oidc-provider.ts'
import { startTestServer } from '../support/server.ts'
import { openSession } from '../support/sessions.ts'

const password = 'correct horse battery'
const clock = createTestClock()

let server: SsoServer
let bounded: SsoServer
beforeAll(async () => {
  server = await startSsoServer({ settings: { SSO_ONLY: 'true' } })
  bounded = await startSsoServer({
    settings: { SSO_ONLY: 'true', SSO_SESSION_LIFETIME: '12h' },
    clock: clock.now,
  })
})
afterAll(async () => {
  await server.close()
  await bounded.close()
})

test('SSO_ONLY: registration, sign-in and reset by password are a 403 password_sign_in_disabled', async () => {
  const email = 'ada@example.com'
  const client = createClient(server.url)
  const answers = await Promise.all([
    client.post('/v1/user/register', { email, password, organization: 'Acme' }),
    client.post('/v1/user/signin', { email, password }),
    client.post('/v1/auth/password-reset/request', { email }),
    client.post('/v1/auth/password-reset/confirm', { token: 'A'.repeat(43), password }),
    client.post('/v1/invitations/register', { token: 'A'.repeat(43), password }),
  ])
  for (const { status, body } of answers) {
    expect([status, body.code]).toEqual([403, 'password_sign_in_disabled'])
  }
  expect((await client.get('/v1/installation')).body.password_sign_in).toBe(false)
})

test('SSO_ONLY: sessions that began with a password end, also those in the cache', async () => {
  const SECRET_KEY = 'the same key for both servers, at random'
  const open = await startTestServer({ worker: false, settings: { SECRET_KEY } })
  const { databaseUrl } = open.application.config
  const client = await registerClient(open.url)
  const { id: userId } = (await client.get('/v1/auth/session')).body.user
  const closed = await startSsoServer({
    settings: { SSO_ONLY: 'true', SECRET_KEY, DATABASE_URL: databaseUrl! },
  })
  try {
    const visitor = createClient(closed.url)
    visitor.setCookie(client.cookie())
    for (const path of ['/v1/auth/session', '/v1/models', '/v1/models']) {
      expect((await visitor.get(path)).status).toBe(401)
    }
    visitor.setCookie(`berth_session=${await openSession(closed, userId, 'oidc')}`)
    expect((await visitor.get('/v1/auth/session')).status).toBe(200)
  } finally {
    await closed.close()
    await open.close()
  }
})

test('SSO_ONLY: a session ends after eight hours, however soon the provider’s ID token expires', async () => {
  const browser = server.browse()
  expect((await signInAs(server, browser, newPerson())).location).toBe('/')
  const { session } = (await browser.open('/v1/auth/session')).body
  // The test provider's ID tokens expire after ten minutes.
  const left = Date.parse(session.expires_at) - Date.now()
  expect(left).toBeGreaterThan(7 * hour)
  expect(left).toBeLessThanOrEqual(8 * hour)
})

test('SSO_ONLY: with SSO_SESSION_LIFETIME=provider, a session ends with the provider’s ID token', async () => {
  const bound = await startSsoServer({ settings: { SSO_ONLY: 'true', SSO_SESSION_LIFETIME: 'provider' } })
  try {
    const browser = bound.browse()
    expect((await signInAs(bound, browser, newPerson())).location).toBe('/')
    const { session } = (await browser.open('/v1/auth/session')).body
    expect(Date.parse(session.expires_at) - Date.now()).toBeLessThanOrEqual(hour)
  } finally {
    await bound.close()
  }
})

test('SSO_ONLY: a session of the provider from before the setting follows the rule too', async () => {
  const browser = bounded.browse()
  await signInAs(bounded, browser, newPerson())
  const { user } = (await browser.open('/v1/auth/session')).body
  // As a sign-in without SSO_ONLY leaves it.
  const visitor = createClient(bounded.url)
  visitor.setCookie(`berth_session=${await openSession(bounded, user.id, 'oidc')}`)
  const { session } = (await visitor.get('/v1/auth/session')).body
  expect(Date.parse(session.expires_at) - clock.now().getTime()).toBeLessThanOrEqual(day / 2)
  clock.advance(day / 2)
  for (const path of ['/v1/auth/session', '/v1/models']) expect((await visitor.get(path)).status).toBe(401)
})

test('SSO_ONLY: use extends a session no further than SSO_SESSION_LIFETIME', async () => {
  const browser = bounded.browse()
  await signInAs(bounded, browser, newPerson())
  const { session } = (await browser.open('/v1/auth/session')).body
  expect(Date.parse(session.expires_at) - clock.now().getTime()).toBeLessThanOrEqual(day / 2)
  clock.advance(11 * hour)
  const later = (await browser.open('/v1/auth/session')).body.session
  expect(later.expires_at).toBe(session.expires_at)
  clock.advance(hour)
  expect((await browser.open('/v1/auth/session')).status).toBe(401)
})
