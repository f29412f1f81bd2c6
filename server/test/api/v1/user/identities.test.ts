import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient, registerClient } from '../../../support/client.ts'
import type { Client } from '../../../support/client.ts'
import { newPerson, signInAs, startSsoServer } from '../../../support/oidc-provider.ts'
import type { SsoServer } from '../../../support/oidc-provider.ts'
import { registerProven } from '../../../support/organizations.ts'

let server: SsoServer
beforeAll(async () => {
  server = await startSsoServer()
})
afterAll(() => server.close())

/** An account with a password whose owner has signed in through the provider. */
async function linkAccount() {
  const person = newPerson()
  const client = await registerProven(server, { email: person.email })
  expect((await signInAs(server, server.browse(), person)).location).toBe('/')
  return { person, client }
}

async function clientOf(browser: ReturnType<SsoServer['browse']>): Promise<Client> {
  const client = createClient(server.url)
  client.setCookie(`berth_session=${browser.cookie('berth_session')!.value}`)
  return client
}

const remove = (client: Client, id: number, body: unknown) =>
  client.request('DELETE', `/v1/user/identities/${id}`, body)

test('GET /v1/user/identities: lists the accounts at the provider', async () => {
  const { person, client } = await linkAccount()
  expect((await client.get('/v1/user/identities')).body).toEqual([
    {
      id: expect.any(Number),
      provider: 'oidc',
      issuer: server.provider.issuer,
      subject: person.sub,
      linked_at: expect.any(String),
    },
  ])
  expect((await client.get('/v1/user/export')).body.identities).toMatchObject([{ subject: person.sub }])
  const stranger = await registerClient(server.url)
  expect((await stranger.get('/v1/user/identities')).body).toEqual([])
})

test('DELETE /v1/user/identities/{id}: removes the link with the password, and ends the other sessions', async () => {
  const { person, client } = await linkAccount()
  const { password } = client
  const other = createClient(server.url)
  await other.post('/v1/user/signin', { email: person.email, password })
  const [{ id }] = (await client.get('/v1/user/identities')).body
  expect(await remove(client, id, { password: 'not my password' })).toMatchObject({ status: 401 })
  expect((await remove(client, id, { password })).status).toBe(204)
  expect((await client.get('/v1/user/identities')).body).toEqual([])
  expect((await other.get('/v1/auth/session')).status).toBe(401)
  expect((await client.get('/v1/auth/session')).status).toBe(200)
  expect((await remove(client, id, { password })).status).toBe(404)
})

test('DELETE /v1/user/identities/{id}: an identity of another person is a 404', async () => {
  const { client } = await linkAccount()
  const { client: thief } = await linkAccount()
  const [{ id }] = (await client.get('/v1/user/identities')).body
  expect((await remove(thief, id, { password: thief.password })).status).toBe(404)
  expect((await client.get('/v1/user/identities')).body).toHaveLength(1)
})

test('DELETE /v1/user/identities/{id}: never the last way to sign in', async () => {
  const person = newPerson()
  const browser = server.browse()
  await signInAs(server, browser, person)
  const client = await clientOf(browser)
  const [{ id }] = (await client.get('/v1/user/identities')).body
  const answer = await remove(client, id, { password: 'any password' })
  expect(answer).toMatchObject({ status: 409, body: { code: 'no_password' } })
  expect((await client.get('/v1/user/identities')).body).toHaveLength(1)
})

test('DELETE /v1/user/identities/{id}: 409 last_sign_in_method where passwords are disabled', async () => {
  const closed = await startSsoServer({ settings: { SSO_ONLY: 'true' } })
  try {
    const person = newPerson()
    const browser = closed.browse()
    await signInAs(closed, browser, person)
    const { db } = closed.application
    // A password from before SSO_ONLY.
    const { password_hash } = await server.application.db
      .selectFrom('users')
      .select('password_hash')
      .where('email', '=', (await registerClient(server.url)).email)
      .executeTakeFirstOrThrow()
    await db.updateTable('users').set({ password_hash }).where('email', '=', person.email).execute()
    const client = createClient(closed.url)
    client.setCookie(`berth_session=${browser.cookie('berth_session')!.value}`)
    const [{ id }] = (await client.get('/v1/user/identities')).body
    const answer = await remove(client, id, { password: 'correct horse battery' })
    expect(answer).toMatchObject({ status: 409, body: { code: 'last_sign_in_method' } })
  } finally {
    await closed.close()
  }
})
