import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { disableUser } from '../../src/features/operators/disable-user.ts'
import { identifyOperator } from '../../src/features/operators/operator.ts'
import { createClient, registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { authorize, newPerson, startSsoServer } from '../support/oidc-provider.ts'
import type { SsoServer } from '../support/oidc-provider.ts'
import { invite, joinClient } from '../support/organizations.ts'
import type { Account } from '../support/organizations.ts'
import { setRole } from '../support/roles.ts'

const path = '/v1/organization/invitations'
const password = 'correct horse battery'

let server: SsoServer
beforeAll(async () => {
  server = await startSsoServer()
})
afterAll(() => server.close())

let owner: Account
let admin: Account
beforeEach(async () => {
  owner = await registerClient(server.url, { organization: 'Engines' })
  admin = await joinClient(server, owner, 'super_admin')
})

async function memberPath(account: Account): Promise<string> {
  const members = (await owner.get('/v1/organization/members')).body
  return `/v1/organization/members/${members.find(({ email }: any) => email === account.email).id}`
}

async function userId(client: Client): Promise<number> {
  return (await client.get('/v1/auth/session')).body.user.id
}

async function statusOf(email: string): Promise<string> {
  const invitations = (await owner.get(path)).body
  return invitations.find((each: any) => each.invitee_email === email).status
}

const register = (token: string) =>
  createClient(server.url).post('/v1/invitations/register', { token, password })

test.each([
  ['is demoted', async () => owner.patch(await memberPath(admin), { role: 'viewer' })],
  ['is removed', async () => owner.delete(await memberPath(admin))],
  ['leaves', () => admin.post('/v1/organization/leave')],
  ['deletes the account', () => admin.request('DELETE', '/v1/user', { password })],
  [
    'is disabled by an operator',
    async () => {
      await disableUser(server.application, identifyOperator(), await userId(admin), true)
      return { status: 200 }
    },
  ],
])('open invitations are cancelled when their inviter %s', async (_what, change) => {
  const email = `accomplice-of-${admin.email}`
  const { invitation, token } = await invite(server, admin, { email, role: 'admin' })
  const others = await invite(server, owner, { email: `friend-of-${owner.email}` })
  expect((await change()).status).toBeLessThan(300)
  expect(await statusOf(email)).toBe('cancelled')
  expect(await register(token)).toMatchObject({ status: 409, body: { code: 'invitation_answered' } })
  expect((await register(others.token)).status).toBe(200)
  const log = (await owner.get('/v1/organization/audit-log?action=invitation.cancelled')).body
  expect(log.items).toMatchObject([{ target: { id: String(invitation.id), name: email } }])
})

test('a super_admin who becomes an admin keeps the invitations that an admin may make', async () => {
  const admins = await invite(server, admin, { email: `a-${admin.email}`, role: 'admin' })
  const members = await invite(server, admin, { email: `m-${admin.email}`, role: 'member' })
  expect((await owner.patch(await memberPath(admin), { role: 'admin' })).status).toBe(200)
  expect((await register(admins.token)).status).toBe(409)
  expect((await register(members.token)).status).toBe(200)
})

test('the rights of the inviter count at the acceptance, on each way to accept', async () => {
  const person = newPerson()
  const guest = await registerClient(server.url)
  const invited = await Promise.all(
    [`new-${admin.email}`, guest.email, person.email].map((email) => invite(server, admin, { email })),
  )
  const [byRegistration, byAccount, bySso] = invited.map(({ token }) => token)
  // A change that bypasses the API, and so cancels nothing.
  await setRole(server, admin.email, 'member')
  expect(await register(byRegistration!)).toMatchObject({ status: 409 })
  const accepted = await guest.post(`/v1/invitations/by-token/${byAccount}/accept`)
  expect(accepted).toMatchObject({ status: 409, body: { code: 'invitation_answered' } })
  const browser = server.browse()
  const { body } = await browser.post('/v1/invitations/sso/oidc/start', { token: bySso })
  const callback = await authorize(server, browser, person, body.authorization_url)
  expect((await browser.open(callback.href)).location).toBe('/sign-in?error=invitation_answered')
  expect((await owner.get('/v1/organization/members')).body).toHaveLength(2)
})

test('an admin invites viewers and members, but no admins', async () => {
  const own = await joinClient(server, owner, 'admin')
  for (const role of ['viewer', 'member']) {
    expect((await own.post(path, { email: `${role}-${own.email}`, role })).status).toBe(200)
  }
  const refused = await own.post(path, { email: `admin-${own.email}`, role: 'admin' })
  expect(refused).toMatchObject({ status: 403, body: { code: 'forbidden' } })
  const { invitation } = await invite(server, owner, { email: `admin-${own.email}`, role: 'admin' })
  for (const action of ['resend', 'link']) {
    expect((await own.post(`${path}/${invitation.id}/${action}`)).status, action).toBe(403)
  }
  expect((await own.delete(`${path}/${invitation.id}`)).status).toBe(200)
})

test('an invitation that races the demotion of its inviter never gives access', async () => {
  for (let round = 0; round < 10; round += 1) {
    const inviter = await joinClient(server, owner, 'super_admin')
    const email = `race-${inviter.email}`
    const [{ status }, demoted] = await Promise.all([
      inviter.post(path, { email, role: 'admin' }),
      owner.patch(await memberPath(inviter), { role: 'member' }),
    ])
    expect(demoted.status).toBe(200)
    expect([200, 403]).toContain(status)
    if (status === 200) expect(await statusOf(email)).toBe('cancelled')
  }
})
