import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createClient, registerClient } from '../../support/client.ts'
import type { Client } from '../../support/client.ts'
import { invite } from '../../support/organizations.ts'
import { setRole } from '../../support/roles.ts'
import { startTestServer } from '../../support/server.ts'
import type { TestServer } from '../../support/server.ts'

const day = 24 * 3_600_000

let now = Date.now()
let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ worker: false, clock: () => new Date(now) })
})
afterAll(() => server.close())

let owner: Client
let guest: Client & { email: string }
beforeEach(async () => {
  now = Date.now()
  owner = await registerClient(server.url, { organization: 'Engines' })
  guest = await registerClient(server.url)
})

async function listNames(client: Client) {
  const answer = await client.get('/v1/invitations')
  expect(answer.status).toBe(200)
  return answer.body.map((item: any) => [item.organization_name, item.status])
}

test('GET /v1/invitations: 401 without a session', async () => {
  expect((await createClient(server.url).get('/v1/invitations')).status).toBe(401)
})

test('GET /v1/invitations: a JSON array of the Invitations to the caller’s email, ignoring case', async () => {
  expect((await guest.get('/v1/invitations')).body).toEqual([])
  const { invitation } = await invite(server, owner, { email: guest.email.toUpperCase() })
  expect((await guest.get('/v1/invitations')).body).toEqual([invitation])
  expect((await owner.get('/v1/invitations')).body).toEqual([])
})

test('GET /v1/invitations: includes an invitation that is older than the account', async () => {
  const email = `later-${guest.email}`
  const { invitation } = await invite(server, owner, { email })
  expect(invitation.invitee_user_id).toBeNull()
  const later = await registerClient(server.url, { email })
  const { user } = (await later.get('/v1/auth/session')).body
  expect((await later.get('/v1/invitations')).body).toEqual([{ ...invitation, invitee_user_id: user.id }])
})

test('GET /v1/invitations: pending first, then newest first', async () => {
  for (const organization of ['Expiring', 'Rejected', 'Older', 'Newer', 'Accepted']) {
    const inviter = await registerClient(server.url, { organization })
    const { invitation, token } = await invite(server, inviter, { email: guest.email })
    if (organization === 'Rejected') await guest.post(`/v1/invitations/${invitation.id}/reject`)
    if (organization === 'Accepted') await guest.post(`/v1/invitations/by-token/${token}/accept`)
    now += 2 * day
  }
  expect(await listNames(guest)).toEqual([
    ['Newer', 'pending'],
    ['Older', 'pending'],
    ['Accepted', 'accepted'],
    ['Rejected', 'rejected'],
    ['Expiring', 'expired'],
  ])
})

test('POST /v1/invitations/{id}/reject: returns the rejected Invitation once', async () => {
  const { invitation } = await invite(server, owner, { email: guest.email.toUpperCase() })
  now += 1
  const answer = await guest.post(`/v1/invitations/${invitation.id}/reject`)
  expect(answer.status).toBe(200)
  const rejected = { ...invitation, status: 'rejected', responded_at: new Date(now).toISOString() }
  expect(answer.body).toEqual(rejected)
  expect((await owner.get('/v1/organization/invitations')).body).toEqual([rejected])
  const again = await guest.post(`/v1/invitations/${invitation.id}/reject`)
  expect(again.status).toBe(409)
  expect(again.body.code).toBe('invitation_answered')
  expect((await owner.get('/v1/organization/members')).body).toHaveLength(1)
})

test('POST /v1/invitations/{id}/reject: allowed for every role', async () => {
  const { invitation } = await invite(server, owner, { email: guest.email })
  await setRole(server, guest.email, 'viewer')
  expect((await guest.post(`/v1/invitations/${invitation.id}/reject`)).status).toBe(200)
})

test('POST /v1/invitations/{id}/reject: 410 invitation_expired after expiry', async () => {
  const { invitation } = await invite(server, owner, { email: guest.email })
  now += 4 * day
  await guest.get('/v1/auth/session') // renews the session, which expires after 7 idle days
  now += 3 * day
  const answer = await guest.post(`/v1/invitations/${invitation.id}/reject`)
  expect(answer.status).toBe(410)
  expect(answer.body.code).toBe('invitation_expired')
})

test('POST /v1/invitations/{id}/reject: an invitation to another user is a 404, even for the inviter, and stays pending', async () => {
  const { invitation } = await invite(server, owner, { email: guest.email })
  const stranger = await registerClient(server.url)
  for (const client of [stranger, owner]) {
    const answer = await client.post(`/v1/invitations/${invitation.id}/reject`)
    const absent = await client.post('/v1/invitations/987654321/reject')
    expect(answer.status).toBe(404)
    expect({ ...answer.body, request_id: '' }).toEqual({ ...absent.body, request_id: '' })
  }
  expect((await createClient(server.url).post(`/v1/invitations/${invitation.id}/reject`)).status).toBe(401)
  expect(await listNames(guest)).toEqual([['Engines', 'pending']])
})

test.each(['abc', '0', '-1', '1.5', '%00', '9223372036854775808', 'by-token', 'register'])(
  'POST /v1/invitations/{id}/reject: the id %s is a 404',
  async (id) => {
    expect((await guest.post(`/v1/invitations/${id}/reject`)).status).toBe(404)
  },
)
