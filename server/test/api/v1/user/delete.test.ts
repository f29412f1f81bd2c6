import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient, registerClient } from '../../../support/client.ts'
import type { Client } from '../../../support/client.ts'
import { newPerson, signInAs, startSsoServer } from '../../../support/oidc-provider.ts'
import type { SsoServer } from '../../../support/oidc-provider.ts'
import { invite, joinClient } from '../../../support/organizations.ts'
import { createTestClock } from '../../../support/clock.ts'

const clock = createTestClock()
let server: SsoServer
beforeAll(async () => {
  server = await startSsoServer({ clock: clock.now })
})
afterAll(() => server.close())

function deleteAccount(client: Client, body: unknown) {
  return client.request('DELETE', '/v1/user', body)
}

test('DELETE /v1/user: deployments end, the organization closes, personal data goes, the email is free again', async () => {
  const { db } = server.application
  const client = await registerClient(server.url, { name: 'Ada Lovelace', organization: 'Mills' })
  const { id: userId } = (await client.get('/v1/auth/session')).body.user
  const { id: organizationId } = (await client.get('/v1/organization')).body
  const { id } = (await client.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })).body
  const { token } = await invite(server, client, { email: 'guest@example.com' })
  expect((await deleteAccount(client, { password: 'not my password' })).status).toBe(401)
  expect((await deleteAccount(client, {})).status).toBe(403)
  expect((await deleteAccount(client, { password: client.password })).status).toBe(204)

  expect((await client.get('/v1/auth/session')).status).toBe(401)
  const row = (table: 'deployments' | 'organizations' | 'users', key: string | number) =>
    db.selectFrom(table).selectAll().where('id', '=', key).executeTakeFirstOrThrow()
  expect(await row('deployments', id)).toMatchObject({ status: 'terminating' })
  expect(await row('organizations', organizationId)).toMatchObject({ status: 'closed' })
  const user = await row('users', userId)
  expect(user).toMatchObject({ password_hash: null, deleted_at: expect.any(Date) })
  expect(JSON.stringify(user)).not.toMatch(/Ada|Lovelace/)
  expect(JSON.stringify(user)).not.toContain(client.email)
  const visitor = createClient(server.url)
  expect((await visitor.get(`/v1/invitations/by-token/${token}`)).body.status).toBe('cancelled')
  const credentials = { email: client.email, password: client.password }
  expect((await visitor.post('/v1/user/signin', credentials)).status).toBe(401)
  await registerClient(server.url, { email: client.email })
})

test('DELETE /v1/user: the last super_admin of an organization with other members: 409, and nothing changes', async () => {
  const owner = await registerClient(server.url)
  const member = await joinClient(server, owner, 'member')
  expect(await deleteAccount(owner, { password: owner.password })).toMatchObject({
    status: 409,
    body: { code: 'last_super_admin' },
  })
  expect((await owner.get('/v1/organization/members')).body).toHaveLength(2)
  expect((await deleteAccount(member, { password: member.password })).status).toBe(204)
  expect((await owner.get('/v1/organization/members')).body).toHaveLength(1)
  const log = (await owner.get('/v1/organization/audit-log')).body.items
  expect(log.map(({ action }: { action: string }) => action)).toContain('member.left')
})

test('DELETE /v1/user: an account without a password needs a fresh SSO sign-in', async () => {
  const browser = server.browse()
  const person = newPerson()
  await signInAs(server, browser, person)
  const client = createClient(server.url)
  client.setCookie(`berth_session=${browser.cookie('berth_session')!.value}`)
  clock.advance(11 * 60_000)
  expect(await deleteAccount(client, {})).toMatchObject({ status: 403, body: { code: 'sign_in_again' } })
  await signInAs(server, browser, person)
  client.setCookie(`berth_session=${browser.cookie('berth_session')!.value}`)
  expect((await deleteAccount(client, {})).status).toBe(204)
  await signInAs(server, browser, person)
  client.setCookie(`berth_session=${browser.cookie('berth_session')!.value}`)
  expect((await client.get('/v1/auth/session')).body.user.email, 'a new account').toBe(person.email)
})

test('GET /v1/user/export: everything about the person, without secrets', async () => {
  const client = await registerClient(server.url, { name: 'Ada Lovelace' })
  await client.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })
  const { status, headers, body } = await client.get('/v1/user/export')
  expect(status).toBe(200)
  expect(headers.get('content-disposition')).toBe('attachment; filename="berth-account.json"')
  expect(body).toMatchObject({
    account: { email: client.email, name: 'Ada Lovelace' },
    memberships: [{ role: 'super_admin' }],
    sessions: [{ auth_method: 'password', address: '127.0.0.1' }],
    deployments: [{ model_name: 'berth-tiny' }],
    invitations: [],
  })
  expect(body.actions.map(({ action }: { action: string }) => action)).toContain('deployment.created')
  expect(JSON.stringify(body)).not.toMatch(/password_hash|token_hash|argon2/)
})
