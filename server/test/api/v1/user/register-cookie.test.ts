import { afterAll, beforeAll, expect, test } from 'vitest'
import { readConfig } from '../../../../src/config/config.ts'
import { buildServer } from '../../../../src/process/server.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ worker: false })
})
afterAll(() => server.close())

let count = 0

/** Registers on a server with these settings and returns the `Set-Cookie` line without its date. */
async function cookieWith(settings: Record<string, string>): Promise<string> {
  const { sessionCookie, publicUrl } = readConfig(settings)
  const config = { ...server.application.config, sessionCookie, publicUrl }
  const app = await buildServer({ ...server.application, config })
  count += 1
  const payload = { email: `user-${count}@example.com`, password: 'correct horse battery', organization: 'A' }
  const answer = await app.inject({ method: 'POST', url: '/v1/user/register', payload })
  await app.close()
  expect(answer.statusCode).toBe(200)
  const [line = '', ...more] = [answer.headers['set-cookie']].flat()
  expect(more).toEqual([])
  const expires = Date.parse(/Expires=([^;]+)/.exec(line)?.[1] ?? '')
  expect(expires).toBe(Math.floor(Date.parse(answer.json().session.expires_at) / 1000) * 1000)
  return line.replace(/=[A-Za-z0-9_-]{43};/, '=<token>;').replace(/ Expires=[^;]+;/, '')
}

test.each([
  ['by default', {}, 'berth_session=<token>; Path=/; HttpOnly; SameSite=Lax'],
  [
    'with an https PUBLIC_URL',
    { PUBLIC_URL: 'https://berth.example.com' },
    '__Host-session=<token>; Path=/; HttpOnly; Secure; SameSite=Lax',
  ],
  [
    'with https and SESSION_COOKIE_SECURE=false',
    { PUBLIC_URL: 'https://berth.example.com', SESSION_COOKIE_SECURE: 'false' },
    'berth_session=<token>; Path=/; HttpOnly; SameSite=Lax',
  ],
  [
    'with http and SESSION_COOKIE_SECURE=true',
    { SESSION_COOKIE_SECURE: 'true' },
    'berth_session=<token>; Path=/; HttpOnly; Secure; SameSite=Lax',
  ],
  [
    'with SESSION_COOKIE_SAMESITE=Strict',
    { SESSION_COOKIE_SAMESITE: 'Strict' },
    'berth_session=<token>; Path=/; HttpOnly; SameSite=Strict',
  ],
  [
    'with SESSION_COOKIE_SAMESITE=NONE and Secure',
    { SESSION_COOKIE_SAMESITE: 'NONE', SESSION_COOKIE_SECURE: '1' },
    'berth_session=<token>; Path=/; HttpOnly; Secure; SameSite=None',
  ],
  [
    'with SESSION_COOKIE_NAME=__Host-berth',
    { SESSION_COOKIE_NAME: '__Host-berth', SESSION_COOKIE_SECURE: 'yes' },
    '__Host-berth=<token>; Path=/; HttpOnly; Secure; SameSite=Lax',
  ],
])('POST /v1/user/register: the cookie %s', async (_when, settings, expected) => {
  expect(await cookieWith(settings)).toBe(expected)
})

test('GET /v1/auth/session: only the cookie with the configured name is accepted', async () => {
  const { sessionCookie } = readConfig({ SESSION_COOKIE_NAME: 'berth_session' })
  const config = { ...server.application.config, sessionCookie }
  const app = await buildServer({ ...server.application, config })
  const payload = { email: 'named@example.com', password: 'correct horse battery', organization: 'A' }
  const registered = await app.inject({ method: 'POST', url: '/v1/user/register', payload })
  const token = registered.cookies[0]?.value ?? ''
  const ask = (cookies: Record<string, string>) =>
    app.inject({ method: 'GET', url: '/v1/auth/session', cookies })
  expect((await ask({ berth_session: token })).statusCode).toBe(200)
  expect((await ask({ session: token })).statusCode).toBe(401)
  const document = (await app.inject({ method: 'GET', url: '/openapi.json' })).json()
  expect(document.components.securitySchemes.session.name).toBe('berth_session')
  await app.close()
})
