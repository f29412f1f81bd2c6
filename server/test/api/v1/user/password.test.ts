import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { createClient, registerClient } from '../../../support/client.ts'
import type { Client } from '../../../support/client.ts'
import { newPerson, signInAs, startSsoServer } from '../../../support/oidc-provider.ts'
import type { SsoServer } from '../../../support/oidc-provider.ts'
import { insertReset } from '../../../support/password-resets.ts'

const route = '/v1/user/password'
const newPassword = 'a longer engine'

let server: SsoServer
let client: Client & { email: string; password: string }
beforeAll(async () => {
  server = await startSsoServer()
})
afterAll(() => server.close())
beforeEach(async () => {
  client = await registerClient(server.url)
})

async function signIn(password: string): Promise<Client> {
  const other = createClient(server.url)
  expect((await other.post('/v1/user/signin', { email: client.email, password })).status).toBe(200)
  return other
}

test('POST /v1/user/password: 204, the new password works, and the other sessions and reset links end', async () => {
  const other = await signIn(client.password)
  const { id } = (await client.get('/v1/auth/session')).body.user
  const token = await insertReset(server, id)
  const change = { current_password: client.password, new_password: newPassword }
  expect((await client.post(route, change)).status).toBe(204)
  expect((await client.get('/v1/auth/session')).status).toBe(200)
  expect((await other.get('/v1/auth/session')).status).toBe(401)
  await signIn(newPassword)
  const old = { email: client.email, password: client.password }
  expect((await createClient(server.url).post('/v1/user/signin', old)).status).toBe(401)
  const reset = { token, password: 'yet another engine' }
  expect((await createClient(server.url).post('/v1/auth/password-reset/confirm', reset)).status).toBe(400)
  await vi.waitFor(async () => {
    const mails = server.application.db
      .selectFrom('mails')
      .select('kind')
      .where('recipient', '=', client.email)
    expect(await mails.execute()).toContainEqual({ kind: 'password_changed' })
  }, 20_000)
})

test('POST /v1/user/password: a wrong current password is a 401 invalid_credentials, and ten of them a 429', async () => {
  const wrong = { current_password: 'not my password', new_password: newPassword }
  for (let count = 0; count < 10; count += 1) {
    expect(await client.post(route, wrong)).toMatchObject({
      status: 401,
      body: { code: 'invalid_credentials' },
    })
  }
  expect((await client.post(route, { ...wrong, current_password: client.password })).status).toBe(429)
  expect((await client.get('/v1/auth/session')).status).toBe(200)
})

test('POST /v1/user/password: an account without a password is a 409 no_password', async () => {
  const browser = server.browse()
  await signInAs(server, browser, newPerson())
  const body = { current_password: 'anything else', new_password: newPassword }
  const other = createClient(server.url)
  other.setCookie(`berth_session=${browser.cookie('berth_session')!.value}`)
  expect(await other.post(route, body)).toMatchObject({ status: 409, body: { code: 'no_password' } })
})

test('a password of 8 to 72 bytes is accepted, also one of the most common ones', async () => {
  for (const [index, [password, status]] of (
    [
      ['password123', 200],
      ['12345678', 200],
      ['P@ssw0rd', 200],
      ['seven77', 422],
      ['eight888', 200],
      ['é'.repeat(4), 200],
      ['x'.repeat(72), 200],
      ['x'.repeat(73), 422],
    ] as const
  ).entries()) {
    const email = `password-${index}@example.com`
    const answer = await createClient(server.url).post('/v1/user/register', {
      email,
      password,
      organization: 'Acme',
    })
    expect(answer.status, password).toBe(status)
  }
})
