import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { newPerson, signInAs, startSsoServer, startTestProvider } from '../../../support/oidc-provider.ts'
import type { Person, SsoServer } from '../../../support/oidc-provider.ts'

const path = '/v1/sso/backchannel-logout/oidc'
const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }

let server: SsoServer
beforeAll(async () => {
  server = await startSsoServer()
})
afterEach(() => server.provider.setFault(null))
afterAll(() => server.close())

async function logOut(token: string | null, at = path) {
  const response = await fetch(server.url + at, {
    method: 'POST',
    body: new URLSearchParams(token === null ? {} : { logout_token: token }),
  })
  const text = await response.text()
  return { status: response.status, body: text === '' ? null : JSON.parse(text), headers: response.headers }
}

const sign = (claims: Record<string, unknown>) => server.provider.signToken({ events, ...claims })

async function signIn(person: Person) {
  const browser = server.browse()
  expect((await signInAs(server, browser, person)).location).toBe('/')
  const { session_id: id, sid } = await server.application.db
    .selectFrom('sso_sessions')
    .select(['session_id', 'sid'])
    .where('subject', '=', person.sub)
    .orderBy('session_id', 'desc')
    .executeTakeFirstOrThrow()
  return { id, sid: sid!, status: async () => (await browser.open('/v1/auth/session')).status }
}

test('POST /v1/sso/backchannel-logout/{p}: ends the session that began with the provider’s session', async () => {
  const person = newPerson()
  const [first, second, other] = [await signIn(person), await signIn(person), await signIn(newPerson())]
  expect(first.sid).not.toBe(second.sid)
  const answer = await logOut(await sign({ sub: person.sub, sid: first.sid }))
  expect([answer.status, answer.body]).toEqual([200, null])
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expect([await first.status(), await second.status(), await other.status()]).toEqual([401, 200, 200])
  const row = await server.application.db
    .selectFrom('audit_log')
    .select(['action', 'details'])
    .where('target_type', '=', 'session')
    .where('target_id', '=', String(first.id))
    .orderBy('id', 'desc')
    .executeTakeFirst()
  expect(row).toEqual({ action: 'session.ended', details: { by: 'provider' } })
  // The provider may repeat it.
  expect((await logOut(await sign({ sid: first.sid }))).status).toBe(200)
})

test('POST /v1/sso/backchannel-logout/{p}: without a session id, ends all sessions of the person', async () => {
  const person = newPerson()
  const [first, second, other] = [await signIn(person), await signIn(person), await signIn(newPerson())]
  expect((await logOut(await sign({ sub: person.sub }))).status).toBe(200)
  expect([await first.status(), await second.status(), await other.status()]).toEqual([401, 401, 200])
})

test('POST /v1/sso/backchannel-logout/{p}: a compressed form is read within the limit, another coding is a 415', async () => {
  const person = newPerson()
  const session = await signIn(person)
  const send = (body: Uint8Array<ArrayBuffer>, coding: string) =>
    fetch(server.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'content-encoding': coding },
      body,
    })
  const form = new URLSearchParams({ logout_token: await sign({ sub: person.sub }) }).toString()
  expect((await send(gzipSync(Buffer.alloc(2 ** 20, 'a')), 'gzip')).status).toBe(413)
  const other = await send(Buffer.from(form), 'compress')
  expect([other.status, other.headers.get('accept-encoding')]).toEqual([415, 'gzip, deflate, br, zstd'])
  expect(await session.status()).toBe(200)
  expect((await send(gzipSync(form), 'gzip')).status).toBe(200)
  expect(await session.status()).toBe(401)
})

const minutesAgo = (minutes: number) => Math.floor(Date.now() / 1000) - minutes * 60

test.each<[string, Record<string, unknown>]>([
  ['of another issuer', { iss: 'https://id.example.com' }],
  ['for another client', { aud: 'another' }],
  ['that has expired', { exp: minutesAgo(1) }],
  ['that is old', { iat: minutesAgo(10), exp: minutesAgo(-60) }],
  ['with a nonce, such as an ID token', { nonce: 'n' }],
  ['without the event', { events: {} }],
  ['with another event', { events: 'logout' }],
  ['without a person and a session', { sub: undefined }],
])('POST /v1/sso/backchannel-logout/{p}: a token %s is a 400 and ends nothing', async (_what, claims) => {
  const person = newPerson()
  const session = await signIn(person)
  expect(await logOut(await sign({ sub: person.sub, ...claims }))).toMatchObject({
    status: 400,
    body: { code: 'invalid_logout_token' },
  })
  expect(await session.status()).toBe(200)
})

test('POST /v1/sso/backchannel-logout/{p}: a token that the provider did not sign is a 400', async () => {
  const person = newPerson()
  const session = await signIn(person)
  const stranger = await startTestProvider()
  try {
    const { issuer } = server.provider
    const forged = await stranger.signToken({ iss: issuer, sub: person.sub, events })
    const [header, payload] = forged.split('.')
    const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload}.`
    for (const token of [forged, unsigned, `${header}.${payload}.`, 'x', '', null]) {
      expect((await logOut(token)).status, String(token)).toBe(400)
    }
  } finally {
    await stranger.close()
  }
  expect(await session.status()).toBe(200)
})

test('POST /v1/sso/backchannel-logout/{p}: 404 for another provider, 503 while its keys are unreachable', async () => {
  const person = newPerson()
  const token = await sign({ sub: person.sub })
  expect((await logOut(token, '/v1/sso/backchannel-logout/other')).status).toBe(404)
  const fresh = await startSsoServer()
  try {
    const session = fresh.browse()
    await signInAs(fresh, session, person)
    fresh.provider.setFault((request, response) => {
      if (request.url !== '/jwks') return false
      response.writeHead(500).end()
      return true
    })
    const body = new URLSearchParams({
      logout_token: await fresh.provider.signToken({ sub: person.sub, events }),
    })
    const send = () => fetch(fresh.url + path, { method: 'POST', body })
    expect((await send()).status).toBe(503)
    fresh.provider.setFault(null)
    expect((await send()).status).toBe(200)
    expect((await session.open('/v1/auth/session')).status).toBe(401)
  } finally {
    await fresh.close()
  }
})
