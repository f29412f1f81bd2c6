import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createClient, registerClient } from '../../../support/client.ts'
import type { Client } from '../../../support/client.ts'
import { invite } from '../../../support/organizations.ts'
import { setRole } from '../../../support/roles.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const day = 24 * 3_600_000

let now = Date.now()
let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ worker: false, clock: () => new Date(now) })
})
afterAll(() => server.close())

let owner: Client & { email: string }
let guest: Client & { email: string }
beforeEach(async () => {
  now = Date.now()
  owner = await registerClient(server.url, { organization: 'Engines' })
  guest = await registerClient(server.url, { organization: 'Guests' })
})

const preview = (token: string) => createClient(server.url).get(`/v1/invitations/by-token/${token}`)
const accept = (client: Client, token: string) => client.post(`/v1/invitations/by-token/${token}/accept`)
const reject = (client: Client, token: string) => client.post(`/v1/invitations/by-token/${token}/reject`)

/**
 * Advances the clock past the expiry of invitations, and renews the guest's session, which would expire too.
 */
async function letExpire() {
  now += 4 * day
  await guest.get('/v1/auth/session')
  now += 3 * day
}

test('GET …/by-token/{token}: a preview without a session', async () => {
  const email = `new-${guest.email}`
  const { token, invitation } = await invite(server, owner, { email, role: 'viewer' })
  const ownerName = (await owner.get('/v1/auth/session')).body.user.name
  const answer = await preview(token)
  expect(answer.status).toBe(200)
  expect(answer.body).toEqual({
    organization_name: 'Engines',
    inviter_name: ownerName,
    invitee_email: email,
    role: 'viewer',
    status: 'pending',
    expires_at: invitation.expires_at,
    account_exists: false,
  })
})

test('GET …/by-token/{token}: account_exists is true for an account with this email, ignoring case', async () => {
  const { token } = await invite(server, owner, { email: guest.email.toUpperCase() })
  expect((await preview(token)).body.account_exists).toBe(true)
})

test('GET …/by-token/{token}: shows answered and expired invitations with their status', async () => {
  const accepted = await invite(server, owner, { email: guest.email })
  await accept(guest, accepted.token)
  expect((await preview(accepted.token)).body.status).toBe('accepted')
  const other = await registerClient(server.url)
  const rejected = await invite(server, owner, { email: other.email })
  await reject(other, rejected.token)
  expect((await preview(rejected.token)).body.status).toBe('rejected')
  const late = await invite(server, owner, { email: `late-${guest.email}` })
  now += 7 * day - 1
  expect((await preview(late.token)).body.status).toBe('pending')
  now += 1
  expect((await preview(late.token)).body.status).toBe('expired')
})

test.each([
  ['an unknown value', 'A'.repeat(43)],
  ['one letter', 'a'],
  ['NUL', '%00'],
  ['a path', '..%2F..%2Fetc'],
  ['an SQL injection', "'%20OR%201=1%20--"],
  ['emoji', '%F0%9F%9A%A2'],
  ['10,000 letters', 'a'.repeat(10_000)],
])('GET, POST …/by-token/{token}: a token with %s is a 404', async (_what, token) => {
  for (const answer of [await preview(token), await accept(guest, token), await reject(guest, token)]) {
    expect(answer.status).toBe(404)
    expect(answer.body.code).toBe('not_found')
  }
})

test('GET …/by-token/{token}: the stored hash and nonce are not valid tokens', async () => {
  const { invitation } = await invite(server, owner, { email: guest.email })
  const row = await server.application.db
    .selectFrom('invitations')
    .selectAll()
    .where('id', '=', invitation.id)
    .executeTakeFirstOrThrow()
  for (const value of [row.nonce, row.token_hash.toString('base64url'), row.token_hash.toString('hex')]) {
    expect((await preview(value)).status).toBe(404)
  }
})

test('POST …/accept: returns the Invitation and switches all sessions to the organization', async () => {
  const { invitation, token } = await invite(server, owner, {
    email: guest.email.toUpperCase(),
    role: 'admin',
  })
  const elsewhere = createClient(server.url)
  await elsewhere.post('/v1/user/signin', { email: guest.email, password: 'correct horse battery' })
  now += 1
  const answer = await accept(guest, token)
  expect(answer.status).toBe(200)
  expect(answer.body).toEqual({
    ...invitation,
    status: 'accepted',
    responded_at: new Date(now).toISOString(),
  })
  for (const client of [guest, elsewhere]) {
    expect((await client.get('/v1/auth/session')).body.user).toMatchObject({
      organization: 'Engines',
      role: { id: 2, name: 'admin' },
    })
  }
  expect((await owner.get('/v1/organization/members')).body).toHaveLength(2)
  expect((await owner.get('/v1/organization/invitations')).body).toEqual([answer.body])
})

test('POST …/accept: verifies the invitee’s email', async () => {
  const readVerified = () =>
    server.application.db
      .selectFrom('users')
      .select('email_verified_at')
      .where('email', '=', guest.email)
      .executeTakeFirstOrThrow()
  const { token } = await invite(server, owner, { email: guest.email })
  expect(await readVerified()).toEqual({ email_verified_at: null })
  await accept(guest, token)
  expect(await readVerified()).toEqual({ email_verified_at: new Date(now) })
})

test.each(['accept', 'reject'])(
  'POST …/%s: 401 without a session; the invitation stays pending',
  async (answer) => {
    const { token } = await invite(server, owner, { email: guest.email })
    const refused = await createClient(server.url).post(`/v1/invitations/by-token/${token}/${answer}`)
    expect(refused.status).toBe(401)
    expect(refused.body.code).toBe('not_authenticated')
    expect((await preview(token)).body.status).toBe('pending')
  },
)

test.each(['accept', 'reject'])(
  'POST …/%s: 403 invitation_email_mismatch for a different email; the invitation stays pending',
  async (answer) => {
    const { token } = await invite(server, owner, { email: guest.email })
    const stranger = await registerClient(server.url, { email: `x${guest.email}` })
    for (const client of [stranger, owner]) {
      const refused = await client.post(`/v1/invitations/by-token/${token}/${answer}`)
      expect(refused.status).toBe(403)
      expect(refused.body.code).toBe('invitation_email_mismatch')
    }
    expect((await preview(token)).body.status).toBe('pending')
    expect((await owner.get('/v1/organization/members')).body).toHaveLength(1)
  },
)

test('POST …/reject: returns the rejected Invitation and adds no membership', async () => {
  const { invitation, token } = await invite(server, owner, { email: guest.email })
  const answer = await reject(guest, token)
  expect(answer.status).toBe(200)
  expect(answer.body).toEqual({
    ...invitation,
    status: 'rejected',
    responded_at: new Date(now).toISOString(),
  })
  expect((await guest.get('/v1/organization')).body.name).toBe('Guests')
})

test.each([
  [accept, accept],
  [accept, reject],
  [reject, accept],
  [reject, reject],
])('POST …/accept, reject: a second answer is a 409 invitation_answered', async (first, second) => {
  const { token } = await invite(server, owner, { email: guest.email })
  expect((await first(guest, token)).status).toBe(200)
  const again = await second(guest, token)
  expect(again.status).toBe(409)
  expect(again.body.code).toBe('invitation_answered')
  expect((await preview(token)).body.status).toBe(first === accept ? 'accepted' : 'rejected')
})

test.each([accept, reject])(
  'POST …/accept, reject: a late answer is a 410 invitation_expired',
  async (answer) => {
    const { token } = await invite(server, owner, { email: guest.email })
    await letExpire()
    const late = await answer(guest, token)
    expect(late.status).toBe(410)
    expect(late.body.code).toBe('invitation_expired')
    expect((await guest.get('/v1/organization')).body.name).toBe('Guests')
  },
)

test('POST …/accept: an answered invitation is a 409 even after its expiry', async () => {
  const { token } = await invite(server, owner, { email: guest.email })
  await accept(guest, token)
  await letExpire()
  expect((await accept(guest, token)).body.code).toBe('invitation_answered')
})

test.each([
  ['member', 'viewer', 'member'],
  ['viewer', 'admin', 'admin'],
  ['admin', 'admin', 'admin'],
  ['super_admin', 'viewer', 'super_admin'],
] as const)(
  'POST …/accept: a %s who accepts the role %s becomes %s, with one membership',
  async (has, invitedAs, ends) => {
    const { token } = await invite(server, owner, { email: guest.email, role: invitedAs })
    // A member with a pending invitation: they joined another way in the meantime.
    const { id } = (await owner.get('/v1/organization')).body
    const { user } = (await guest.get('/v1/auth/session')).body
    const membership = { user_id: user.id, organization_id: id, role: has }
    await server.application.db.insertInto('memberships').values(membership).execute()
    expect((await accept(guest, token)).status).toBe(200)
    const members = (await owner.get('/v1/organization/members')).body
    expect(members.map(({ role }: { role: string }) => role)).toEqual(['super_admin', ends])
    expect((await guest.get('/v1/organization')).body).toMatchObject({ id, role: ends })
  },
)

test('POST …/accept: allowed for a viewer of another organization', async () => {
  await setRole(server, guest.email, 'viewer')
  const { token } = await invite(server, owner, { email: guest.email })
  expect((await accept(guest, token)).status).toBe(200)
})
