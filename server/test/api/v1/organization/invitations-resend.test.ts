import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createClient, registerClient } from '../../../support/client.ts'
import type { Client } from '../../../support/client.ts'
import { createCast, invite, readInvitationToken } from '../../../support/organizations.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const day = 24 * 3_600_000
const minute = 60_000

let now = Date.now()
let server: TestServer
let cast: Awaited<ReturnType<typeof createCast>>
beforeAll(async () => {
  server = await startTestServer({ worker: false, clock: () => new Date(now) })
  cast = await createCast(server)
})
afterAll(() => server.close())

let owner: Client
let guest: Client & { email: string }
let invitation: any
let token: string
beforeEach(async () => {
  now = Date.now()
  owner = await registerClient(server.url)
  guest = await registerClient(server.url)
  const sent = await invite(server, owner, { email: guest.email })
  invitation = sent.invitation
  token = sent.token
})

function resend(client: Client = owner) {
  return client.post(`/v1/organization/invitations/${invitation.id}/resend`)
}

async function preview(link: string) {
  return createClient(server.url).get(`/v1/invitations/by-token/${link}`)
}

test('POST …/resend: works right after the invitation, with a new link for 7 days; the old link is invalid', async () => {
  now += 1
  const answer = await resend()
  expect(answer.status).toBe(200)
  expect(answer.body).toEqual({ ...invitation, expires_at: new Date(now + 7 * day).toISOString() })
  const replaced = { status: 410, body: { code: 'invitation_replaced' } }
  expect(await preview(token)).toMatchObject(replaced)
  for (const verb of ['accept', 'reject']) {
    expect(await guest.post(`/v1/invitations/by-token/${token}/${verb}`)).toMatchObject(replaced)
  }
  const registration = { token, password: 'correct horse battery' }
  expect(await createClient(server.url).post('/v1/invitations/register', registration)).toMatchObject(
    replaced,
  )
  const newToken = await readInvitationToken(server, invitation.id)
  expect((await preview(newToken)).body).toMatchObject({ status: 'pending', invitee_email: guest.email })
  expect((await guest.post(`/v1/invitations/by-token/${newToken}/accept`)).status).toBe(200)
})

test('POST …/resend: email_sent_at stays that of the previous email until the new one is sent', async () => {
  const { db } = server.application
  const sentAt = new Date(now)
  await db
    .updateTable('mails')
    .set({ status: 'sent', sent_at: sentAt })
    .where('subject_id', '=', invitation.id)
    .execute()
  const expected = { email_status: 'pending', email_sent_at: sentAt.toISOString() }
  expect((await resend()).body).toMatchObject(expected)
  expect((await owner.get('/v1/organization/invitations')).body[0]).toMatchObject(expected)
})

test('a link of a renewed invitation that had expired is replaced, too', async () => {
  await server.application.db
    .updateTable('invitations')
    .set({ expires_at: new Date(now - 1) })
    .where('id', '=', invitation.id)
    .execute()
  await invite(server, owner, { email: guest.email })
  expect(await preview(token)).toMatchObject({ status: 410, body: { code: 'invitation_replaced' } })
})

test('POST …/resend: queues another email and returns its status', async () => {
  const { db } = server.application
  await db
    .updateTable('mails')
    .set({ status: 'failed', last_error: '550 no such user', sent_at: null })
    .where('subject_id', '=', invitation.id)
    .execute()
  const [listed] = (await owner.get('/v1/organization/invitations')).body
  expect(listed).toMatchObject({ email_status: 'failed', email_last_error: '550 no such user' })
  expect((await resend()).body).toMatchObject({ email_status: 'pending', email_last_error: null })
  const mails = await db.selectFrom('mails').selectAll().where('subject_id', '=', invitation.id).execute()
  expect(mails.map(({ recipient }) => recipient)).toEqual([guest.email, guest.email])
  expect(new Set(mails.map(({ message_id }) => message_id)).size).toBe(2)
})

test('POST …/resend: five an hour, without a pause, then 429 with Retry-After', async () => {
  for (let sent = 0; sent < 5; sent += 1) expect((await resend()).status).toBe(200)
  now += 20 * minute
  const refused = await resend()
  expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
  expect(refused.headers.get('retry-after')).toBe(String(40 * 60))
  now += 40 * minute
  expect((await resend()).status).toBe(200)
})

test('POST …/resend: of 10 concurrent requests, five succeed and the last link works', async () => {
  const answers = await Promise.all(Array.from({ length: 10 }, () => resend()))
  const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b)
  expect(statuses).toEqual([...Array(5).fill(200), ...Array(5).fill(429)])
  expect((await preview(await readInvitationToken(server, invitation.id))).status).toBe(200)
})

test('POST …/resend: revives an expired invitation', async () => {
  now += 4 * day
  await owner.get('/v1/auth/session') // renews the session, which expires after 7 idle days
  now += 4 * day
  expect((await preview(token)).body.status).toBe('expired')
  const answer = await resend()
  expect(answer.status).toBe(200)
  expect(answer.body).toMatchObject({ status: 'pending', responded_at: null })
  expect(answer.body.expires_at).toBe(new Date(now + 7 * day).toISOString())
})

test.each([
  ['accepted', 'accept'],
  ['rejected', 'reject'],
])('POST …/resend: an %s invitation is a 409 invitation_answered', async (_status, answer) => {
  expect((await guest.post(`/v1/invitations/by-token/${token}/${answer}`)).status).toBe(200)
  const again = await resend()
  expect(again.status).toBe(409)
  expect(again.body.code).toBe('invitation_answered')
})

test('POST …/resend: an invitation of another organization is a 404, like an unknown one', async () => {
  const foreign = await resend(cast.stranger)
  const absent = await cast.stranger.post('/v1/organization/invitations/987654321/resend')
  expect(foreign.status).toBe(404)
  expect({ ...foreign.body, request_id: '' }).toEqual({ ...absent.body, request_id: '' })
  expect((await preview(token)).status).toBe(200)
})

test.each([
  'abc',
  '0',
  '-1',
  '1.5',
  '1e3',
  '01',
  '%20',
  '%00',
  '9007199254740993',
  '9223372036854775808',
  '9'.repeat(400),
])('POST …/resend: the id %s is a 404', async (id) => {
  const answer = await owner.post(`/v1/organization/invitations/${id}/resend`)
  expect(answer.status).toBe(404)
  expect(answer.body.code).toBe('not_found')
})

test('POST …/resend: 403 for viewers and members, 401 without a session, for any id', async () => {
  for (const id of [invitation.id, 'abc']) {
    const address = `/v1/organization/invitations/${id}/resend`
    expect((await createClient(server.url).post(address)).status).toBe(401)
    for (const client of [cast.viewer, cast.member]) expect((await client.post(address)).status).toBe(403)
  }
})
