import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createClient, registerClient } from '../../../support/client.ts'
import type { Client } from '../../../support/client.ts'
import { invite, joinClient, readInvitationToken, registerProven } from '../../../support/organizations.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ worker: false })
})
afterAll(() => server.close())

let owner: Client & { email: string }
let email: string
let invitation: any
let token: string
beforeEach(async () => {
  owner = await registerClient(server.url)
  email = `guest-of-${owner.email}`
  const sent = await invite(server, owner, { email })
  invitation = sent.invitation
  token = sent.token
})

const copy = (client: Client) => client.post(`/v1/organization/invitations/${invitation.id}/link`)

async function findVerification(address: string): Promise<Date | null> {
  const row = await server.application.db
    .selectFrom('users')
    .select('email_verified_at')
    .where('email', '=', address)
    .executeTakeFirstOrThrow()
  return row.email_verified_at
}

function registerInvitee(link: string) {
  return createClient(server.url).post('/v1/invitations/register', {
    token: link,
    password: 'a moth in the relay',
  })
}

test('GET /v1/installation: tells that emails are files', async () => {
  const answer = await createClient(server.url).get('/v1/installation')
  expect([answer.status, answer.body.mail_delivery]).toEqual([200, 'file'])
})

test('POST …/link: returns the link of the email, which works', async () => {
  const answer = await copy(owner)
  expect([answer.status, answer.body]).toEqual([
    200,
    { url: `${server.application.config.publicUrl.origin}/invitations/${token}` },
  ])
  expect((await copy(owner)).body).toEqual(answer.body)
  expect((await registerInvitee(token)).status).toBe(200)
})

test('POST …/link: a copied link does not verify the email, for new and for existing accounts', async () => {
  await copy(owner)
  expect((await registerInvitee(token)).status).toBe(200)
  expect(await findVerification(email)).toBeNull()

  const guest = await registerClient(server.url)
  const sent = await invite(server, owner, { email: guest.email })
  invitation = sent.invitation
  await copy(owner)
  expect((await guest.post(`/v1/invitations/by-token/${sent.token}/accept`)).status).toBe(200)
  expect(await findVerification(guest.email)).toBeNull()
})

test('POST …/link: after a resend, the new link verifies the email', async () => {
  await copy(owner)
  const resent = await owner.post(`/v1/organization/invitations/${invitation.id}/resend`)
  expect(resent.status).toBe(200)
  expect((await registerInvitee(await readInvitationToken(server, invitation.id))).status).toBe(200)
  expect(await findVerification(email)).not.toBeNull()
})

test('POST …/link: only for admins of the organization', async () => {
  const member = await joinClient(server, owner, 'member')
  const admin = await joinClient(server, owner, 'admin')
  const stranger = await registerClient(server.url)
  const callers = [createClient(server.url), member, stranger, admin]
  const statuses = await Promise.all(callers.map(async (caller) => (await copy(caller)).status))
  expect(statuses).toEqual([401, 403, 404, 200])
})

test('POST …/link: not for answered and expired invitations', async () => {
  expect((await registerInvitee(token)).status).toBe(200)
  expect((await copy(owner)).body).toMatchObject({ status: 409, code: 'invitation_answered' })
  const { invitation: late } = await invite(server, owner, { email: `late-${email}` })
  invitation = late
  await server.application.db
    .updateTable('invitations')
    .set({ expires_at: new Date(Date.now() - 1) })
    .where('id', '=', late.id)
    .execute()
  expect((await copy(owner)).body).toMatchObject({ status: 410, code: 'invitation_expired' })
})

test('with MAIL_URL: emails are delivered, and links are refused', async () => {
  const delivering = await startTestServer({ worker: false, settings: { MAIL_URL: 'smtp://127.0.0.1:1' } })
  try {
    const admin = await registerProven(delivering)
    expect((await admin.get('/v1/installation')).body.mail_delivery).toBe('smtp')
    const sent = await invite(delivering, admin, { email })
    const answer = await admin.post(`/v1/organization/invitations/${sent.invitation.id}/link`)
    expect(answer.body).toMatchObject({ status: 409, code: 'link_emailed' })
  } finally {
    await delivering.close()
  }
})
