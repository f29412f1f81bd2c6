import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient } from '../support/client.ts'
import { createTestClock, hour } from '../support/clock.ts'
import { newPerson, signInAs, startSsoServer } from '../support/oidc-provider.ts'
import type { SsoServer } from '../support/oidc-provider.ts'
import { openSession } from '../support/sessions.ts'

const route = '/v1/auth/sessions'
const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
const clock = createTestClock()
const minute = 60_000

let server: SsoServer
let bounded: SsoServer
beforeAll(async () => {
  server = await startSsoServer({ clock: clock.now })
  bounded = await startSsoServer({ settings: { SSO_ONLY: 'true' }, clock: clock.now })
})
afterAll(async () => {
  await server.close()
  await bounded.close()
})

/** Signs a new person in through the provider. */
async function signIn(at: SsoServer) {
  const browser = at.browse()
  const person = newPerson()
  expect((await signInAs(at, browser, person)).location).toBe('/')
  const client = createClient(at.url)
  client.setCookie(`berth_session=${browser.cookie('berth_session')!.value}`)
  return { client, person }
}

/** Creates a session for scripts without a password, and returns its client. */
async function createScript(at: SsoServer, client: Awaited<ReturnType<typeof signIn>>['client']) {
  const { status, body } = await client.post(route, { name: 'Nightly report' })
  expect(status).toBe(201)
  const script = createClient(at.url)
  script.setCookie(body.cookie)
  return { script, expiresAt: Date.parse(body.expires_at) }
}

test('POST /v1/auth/sessions: without a password, for ten minutes after a sign-in through the provider', async () => {
  const { client } = await signIn(server)
  const { script } = await createScript(server, client)
  expect((await script.get('/v1/auth/session')).body.session.auth_method).toBe('oidc')
  const again = { status: 403, body: { code: 'sign_in_again' } }
  // Otherwise a script's session could be renewed forever, or delete the account.
  expect(await script.post(route, { name: 'Another' })).toMatchObject(again)
  expect(await script.request('DELETE', '/v1/user', {})).toMatchObject(again)
  clock.advance(11 * minute)
  expect(await client.post(route, { name: 'Another' })).toMatchObject(again)
})

test('POST /v1/sso/backchannel-logout/{p}: the provider ends the sessions for scripts too', async () => {
  const { client, person } = await signIn(server)
  const { script } = await createScript(server, client)
  const { sid } = await server.application.db
    .selectFrom('sso_sessions')
    .select('sid')
    .where('subject', '=', person.sub)
    .executeTakeFirstOrThrow()
  const logout_token = await server.provider.signToken({ events, sub: person.sub, sid })
  const body = new URLSearchParams({ logout_token })
  const answer = await fetch(`${server.url}/v1/sso/backchannel-logout/oidc`, { method: 'POST', body })
  expect(answer.status).toBe(200)
  for (const each of [client, script]) expect((await each.get('/v1/auth/session')).status).toBe(401)
})

test('SSO_ONLY: a session for scripts ends after eight hours, and passwords prove nothing', async () => {
  const { client } = await signIn(bounded)
  expect(await client.post(route, { name: 'Nightly report', password: 'any' })).toMatchObject({
    status: 403,
    body: { code: 'password_sign_in_disabled' },
  })
  const { script, expiresAt } = await createScript(bounded, client)
  expect(expiresAt - clock.now().getTime()).toBeLessThanOrEqual(8 * hour)
  expect((await script.get('/v1/models')).status).toBe(200)
  clock.advance(8 * hour)
  for (const path of ['/v1/auth/session', '/v1/models']) expect((await script.get(path)).status).toBe(401)
})

test('SSO_ONLY: the list leaves out sessions that began with a password', async () => {
  const { client } = await signIn(bounded)
  const { user } = (await client.get('/v1/auth/session')).body
  await openSession(bounded, user.id, 'password')
  expect((await client.get(route)).body).toHaveLength(1)
})
