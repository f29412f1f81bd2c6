import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createClient, registerClient } from '../../../support/client.ts'
import type { Client } from '../../../support/client.ts'
import { createCast, invite, joinClient } from '../../../support/organizations.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const path = '/v1/organization/invitations'
const day = 24 * 3_600_000

let now = Date.now()
let server: TestServer
let cast: Awaited<ReturnType<typeof createCast>>
beforeAll(async () => {
  server = await startTestServer({ worker: false, clock: () => new Date(now) })
  cast = await createCast(server)
})
afterAll(() => server.close())

let owner: Client & { email: string }
let email: string
beforeEach(async () => {
  now = Date.now()
  owner = await registerClient(server.url, { organization: 'Engines' })
  email = `guest-of-${owner.email}`
})

test('POST /v1/organization/invitations: returns an Invitation, pending for 7 days, and queues its email', async () => {
  const { user } = (await owner.get('/v1/auth/session')).body
  const { id: organizationId } = (await owner.get('/v1/organization')).body
  const answer = await owner.post(path, { email, role: 'viewer' })
  expect(answer.status).toBe(200)
  expect(answer.body).toEqual({
    id: expect.any(Number),
    organization_id: organizationId,
    organization_name: 'Engines',
    invitee_email: email,
    invitee_user_id: null,
    invited_by_user_id: user.id,
    role: 'viewer',
    status: 'pending',
    email_status: 'pending',
    email_sent_at: null,
    email_last_error: null,
    created_at: new Date(now).toISOString(),
    expires_at: new Date(now + 7 * day).toISOString(),
    responded_at: null,
  })
  const mail = await server.application.db
    .selectFrom('mails')
    .selectAll()
    .where('subject_id', '=', answer.body.id)
    .where('kind', '=', 'invitation')
    .executeTakeFirstOrThrow()
  expect(mail).toMatchObject({ recipient: email, status: 'pending' })
})

test('POST /v1/organization/invitations: the default role is member', async () => {
  expect((await owner.post(path, { email })).body.role).toBe('member')
  expect((await owner.post(path, { email: `other-${email}`, role: null })).body.role).toBe('member')
})

test.each(['viewer', 'member', 'admin'])(
  'POST /v1/organization/invitations: assigns the role %s',
  async (role) => {
    const answer = await owner.post(path, { email, role })
    expect(answer.status).toBe(200)
    expect(answer.body.role).toBe(role)
  },
)

test('POST /v1/organization/invitations: invitee_user_id is the account with this email, ignoring case', async () => {
  const guest = await registerClient(server.url, { email: `Guest.${owner.email}` })
  const { user } = (await guest.get('/v1/auth/session')).body
  const answer = await owner.post(path, { email: ` ${guest.email.toUpperCase()} ` })
  expect(answer.status).toBe(200)
  expect(answer.body).toMatchObject({ invitee_user_id: user.id, invitee_email: guest.email.toUpperCase() })
})

const longEmail = (length: number) => `${'a'.repeat(length - 2)}@b`

test.each([
  ['an email of 3 characters', { email: 'a@b' }],
  ['an email of 320 characters', { email: longEmail(320) }],
  ['unknown fields and ignores them', { email: 'u@b', status: 'accepted', organization_id: 1, id: 1 }],
])('POST /v1/organization/invitations: accepts %s', async (_what, body) => {
  const answer = await owner.post(path, body)
  expect(answer.status).toBe(200)
  expect(answer.body).toMatchObject({ invitee_email: body.email, status: 'pending' })
})

test.each([
  ['no email', 'email', undefined],
  ['a null email', 'email', null],
  ['an email of 2 characters', 'email', 'a@'],
  ['an email of 321 characters', 'email', longEmail(321)],
  ['an email without @', 'email', 'example.com'],
  ['two emails', 'email', 'a@example.com, b@example.com'],
  ['an email with a line break', 'email', 'a@example.com\r\nBcc: b@example.com'],
  ['an email with NUL', 'email', 'a\0@example.com'],
  ['a list as email', 'email', ['a@example.com']],
  ['the role super_admin', 'role', 'super_admin'],
  ['a role in capitals', 'role', 'ADMIN'],
  ['an empty role', 'role', ''],
  ['a number as role', 'role', 2],
])('POST /v1/organization/invitations: %s is a 422', async (_what, field, value) => {
  const answer = await owner.post(path, { email, [field]: value })
  expect(answer.status).toBe(422)
  expect(answer.body).toMatchObject({ code: 'validation_failed', errors: [{ location: 'body', field }] })
  expect((await owner.get(path)).body).toEqual([])
})

test('POST /v1/organization/invitations: 409 already_member for any member, including the inviter, ignoring case', async () => {
  const member = await joinClient(server, owner, 'viewer')
  for (const address of [member.email, member.email.toUpperCase(), owner.email]) {
    const answer = await owner.post(path, { email: address })
    expect(answer.status).toBe(409)
    expect(answer.body.code).toBe('already_member')
  }
  expect((await owner.get(path)).body).toHaveLength(1)
})

test('POST /v1/organization/invitations: 409 invitation_pending while one is pending, ignoring case; other organizations can invite', async () => {
  const first = await invite(server, owner, { email })
  const again = await owner.post(path, { email: email.toUpperCase(), role: 'admin' })
  expect(again.status).toBe(409)
  expect(again.body.code).toBe('invitation_pending')
  expect((await owner.get(path)).body).toEqual([first.invitation])
  const other = await registerClient(server.url)
  expect((await other.post(path, { email })).status).toBe(200)
})

test('POST /v1/organization/invitations: of 20 concurrent invitations to one email, one succeeds', async () => {
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      owner.post(path, { email: index % 2 === 0 ? email : email.toUpperCase() }),
    ),
  )
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
    200,
    ...Array.from({ length: 19 }, () => 409),
  ])
  expect(new Set(answers.map(({ body }) => body.code))).toEqual(new Set([undefined, 'invitation_pending']))
  expect((await owner.get(path)).body).toHaveLength(1)
})

test('POST /v1/organization/invitations: a rejected invitation can be followed by a new one', async () => {
  const guest = await registerClient(server.url, { email })
  const { invitation } = await invite(server, owner, { email })
  expect((await guest.post(`/v1/invitations/${invitation.id}/reject`)).status).toBe(200)
  now += 1
  const second = await owner.post(path, { email })
  expect(second.status).toBe(200)
  const statuses = (await owner.get(path)).body.map(({ status }: { status: string }) => status)
  expect(statuses).toEqual(['pending', 'rejected'])
})

test('POST /v1/organization/invitations: a new invitation to the email of an expired one renews it; the old link is invalid', async () => {
  const { invitation, token } = await invite(server, owner, { email, role: 'viewer' })
  now += 7 * day - 1
  expect((await owner.post(path, { email })).body.code).toBe('invitation_pending')
  now += 1
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => owner.post(path, { email, role: 'admin' })),
  )
  const renewed = answers.filter(({ status }) => status === 200)
  expect(renewed).toHaveLength(1)
  expect(renewed[0]?.body).toMatchObject({
    id: invitation.id,
    role: 'admin',
    status: 'pending',
    created_at: new Date(now).toISOString(),
    expires_at: new Date(now + 7 * day).toISOString(),
  })
  expect((await createClient(server.url).get(`/v1/invitations/by-token/${token}`)).status).toBe(410)
  const pending = (await owner.get(path)).body.filter(
    ({ status }: { status: string }) => status === 'pending',
  )
  expect(pending).toEqual([renewed[0]?.body])
})

test('GET /v1/organization/invitations: newest first, with expiry by the clock', async () => {
  await invite(server, owner, { email: 'first@example.com' })
  now += 3 * day
  await invite(server, owner, { email: 'second@example.com' })
  now += 4 * day
  const answer = await owner.get(path)
  expect(answer.status).toBe(200)
  expect(answer.body).toMatchObject([
    { invitee_email: 'second@example.com', status: 'pending', responded_at: null },
    { invitee_email: 'first@example.com', status: 'expired', responded_at: null },
  ])
})

test('GET, POST /v1/organization/invitations: admins only; 403 for viewers and members, 401 without a session', async () => {
  const anonymous = createClient(server.url)
  for (const [client, status] of [
    [anonymous, 401],
    [cast.viewer, 403],
    [cast.member, 403],
  ] as const) {
    expect((await client.get(path)).status).toBe(status)
    for (const body of [{ email }, {}, 'no json', undefined]) {
      expect((await client.post(path, body)).status).toBe(status)
    }
  }
  expect((await cast.admin.get(path)).status).toBe(200)
  expect((await cast.admin.post(path, { email })).status).toBe(200)
})

test('GET /v1/organization/invitations: omits invitations of other organizations', async () => {
  await invite(server, owner, { email })
  expect((await cast.stranger.get(path)).body).toEqual([])
})

test('invitations: responses to the inviter contain neither the token nor its nonce', async () => {
  const { invitation, token } = await invite(server, owner, { email })
  const { nonce, token_hash } = await server.application.db
    .selectFrom('invitations')
    .select(['nonce', 'token_hash'])
    .where('id', '=', invitation.id)
    .executeTakeFirstOrThrow()
  const shown = JSON.stringify([invitation, (await owner.get(path)).body])
  for (const secret of [token, nonce, token_hash.toString('hex'), token_hash.toString('base64')]) {
    expect(shown).not.toContain(secret)
  }
})
