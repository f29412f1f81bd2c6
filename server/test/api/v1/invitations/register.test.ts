import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createClient, registerClient } from '../../../support/client.ts'
import type { Client } from '../../../support/client.ts'
import { invite } from '../../../support/organizations.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'
import { endSessionsAtOnce } from '../../../support/sessions.ts'

const day = 24 * 3_600_000
const password = 'correct horse battery'

let now = Date.now()
let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ worker: false, clock: () => new Date(now) })
})
afterAll(() => server.close())

let owner: Client & { email: string }
let email: string
let invitation: any
let token: string
beforeEach(async () => {
  now = Date.now()
  owner = await registerClient(server.url, { organization: 'Engines' })
  email = `Guest.${owner.email}`
  const sent = await invite(server, owner, { email, role: 'viewer' })
  invitation = sent.invitation
  token = sent.token
})

function register(fields: Record<string, unknown> = {}, client = createClient(server.url)) {
  return client.post('/v1/invitations/register', { token, password, ...fields })
}

async function readStatus() {
  return (await createClient(server.url).get(`/v1/invitations/by-token/${token}`)).body.status
}

test('POST /v1/invitations/register: returns a Session of a new account in the inviting organization', async () => {
  const client = createClient(server.url)
  const answer = await register({ first_name: ' Grace', last_name: 'Hopper ', country: 'US' }, client)
  expect(answer.status).toBe(200)
  expect(answer.body).toEqual({
    authenticated: true,
    user: {
      id: expect.any(Number),
      email,
      name: 'Grace Hopper',
      organization: 'Engines',
      kind: 'person',
      role: { id: 4, name: 'viewer' },
      operator: false,
      requires_profile_completion: false,
      requires_email_verification: false,
      requires_second_factor_setup: false,
    },
    session: { expires_at: new Date(now + 7 * day).toISOString(), auth_method: 'password' },
  })
  expect(answer.headers.get('set-cookie')).toMatch(/^berth_session=.+HttpOnly/)
  expect((await client.get('/v1/auth/session')).body).toEqual(answer.body)
  const [listed] = (await client.get('/v1/invitations')).body
  expect(listed).toEqual({
    ...invitation,
    status: 'accepted',
    invitee_user_id: answer.body.user.id,
    responded_at: new Date(now).toISOString(),
  })
})

test('POST /v1/invitations/register: a session that ends before the response is a 401', async () => {
  await endSessionsAtOnce(server.application.db)
  const answer = await register()
  expect([answer.status, answer.body.code]).toEqual([401, 'invalid_credentials'])
  expect(answer.headers.get('set-cookie')).toBeNull()
  expect(await readStatus()).toBe('accepted')
})

test('POST /v1/invitations/register: the account has a verified email, one membership and no organization of its own', async () => {
  const { db } = server.application
  const countOrganizations = () =>
    db.selectFrom('organizations').select(db.fn.countAll<number>().as('count')).executeTakeFirstOrThrow()
  const before = await countOrganizations()
  const { user } = (await register({ contact_number: '+1', country: 'US' })).body
  expect(await countOrganizations()).toEqual(before)
  const row = await db.selectFrom('users').selectAll().where('id', '=', user.id).executeTakeFirstOrThrow()
  expect(row).toMatchObject({
    email_verified_at: new Date(now),
    current_organization_id: invitation.organization_id,
    contact_number: '+1',
    country: 'US',
  })
  const memberships = await db.selectFrom('memberships').selectAll().where('user_id', '=', user.id).execute()
  expect(memberships).toMatchObject([{ organization_id: invitation.organization_id, role: 'viewer' }])
  const answered = await db
    .selectFrom('invitations')
    .select(['status', 'responded_by_user_id'])
    .where('id', '=', invitation.id)
    .executeTakeFirstOrThrow()
  expect(answered).toEqual({ status: 'accepted', responded_by_user_id: user.id })
})

test('POST /v1/invitations/register: the password signs in; without names, user.name is the part before @', async () => {
  expect((await register()).body.user.name).toBe(email.split('@')[0])
  const signedIn = await createClient(server.url).post('/v1/user/signin', {
    email: email.toLowerCase(),
    password,
  })
  expect(signedIn.status).toBe(200)
})

test('POST /v1/invitations/register: a session of another user in the request stays', async () => {
  const cookie = owner.cookie()
  await register({}, owner)
  expect(owner.cookie()).not.toBe(cookie)
  expect((await owner.get('/v1/auth/session')).body.user.email).toBe(email)
  owner.setCookie(cookie)
  expect((await owner.get('/v1/auth/session')).status).toBe(200)
})

test('POST /v1/invitations/register: uses the email of the invitation and ignores one in the body', async () => {
  const answer = await register({
    email: 'other@example.com',
    organization: 'Mine',
    role: 'admin',
    name: 'X',
  })
  expect(answer.body.user).toMatchObject({ email, organization: 'Engines', role: { name: 'viewer' } })
})

test('POST /v1/invitations/register: blank and null names count as not given', async () => {
  const answer = await register({ first_name: ' ', last_name: null, country: '', contact_number: null })
  expect(answer).toMatchObject({ status: 200, body: { user: { name: email.split('@')[0] } } })
})

test.each([
  ['no token', 'token', undefined],
  ['a number as token', 'token', 7],
  ['no password', 'password', undefined],
  ['a password of 7 bytes', 'password', '1234567'],
  ['a password of 73 bytes', 'password', 'x'.repeat(73)],
  ['a password of 6 bytes in 3 letters', 'password', 'ééé'],
  ['a password with NUL', 'password', 'battery\0staple'],
  ['a number as last_name', 'last_name', 1],
  ['NUL in country', 'country', 'a\0b'],
  ['a contact_number of 256 characters', 'contact_number', '1'.repeat(256)],
])(
  'POST /v1/invitations/register: %s is a 422, and the invitation stays pending',
  async (_what, field, value) => {
    const answer = await register({ [field]: value })
    expect(answer.status).toBe(422)
    expect(answer.body).toMatchObject({ code: 'validation_failed', errors: [{ location: 'body', field }] })
    expect(await readStatus()).toBe('pending')
  },
)

test.each(['', 'A'.repeat(43), '\0', '\ud83d', 'x'.repeat(60_000)])(
  'POST /v1/invitations/register: an unknown token is a 404',
  async (unknown) => {
    const answer = await register({ token: unknown })
    expect(answer.status).toBe(404)
    expect(answer.headers.get('set-cookie')).toBeNull()
  },
)

test('POST /v1/invitations/register: a second registration is a 409 invitation_answered', async () => {
  expect((await register()).status).toBe(200)
  const again = await register()
  expect(again.status).toBe(409)
  expect(again.body.code).toBe('invitation_answered')
  expect(again.headers.get('set-cookie')).toBeNull()
})

test('POST /v1/invitations/register: after a rejection 409 invitation_answered, before email_taken', async () => {
  const guest = await registerClient(server.url, { email })
  await guest.post(`/v1/invitations/${invitation.id}/reject`)
  expect((await register()).body).toMatchObject({ status: 409, code: 'invitation_answered' })
})

test('POST /v1/invitations/register: 410 invitation_expired after 7 days, before email_taken', async () => {
  now += 7 * day - 1
  await registerClient(server.url, { email })
  expect((await register()).body.code).toBe('email_taken')
  now += 1
  const late = await register()
  expect(late.status).toBe(410)
  expect(late.body.code).toBe('invitation_expired')
})

test('POST /v1/invitations/register: 409 email_taken if the invitee has an account; the invitation stays pending', async () => {
  await registerClient(server.url, { email: email.toUpperCase() })
  const answer = await register()
  expect(answer.status).toBe(409)
  expect(answer.body.code).toBe('email_taken')
  expect(await readStatus()).toBe('pending')
})
