import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createClient, registerClient } from '../../../support/client.ts'
import type { Client } from '../../../support/client.ts'
import { invite } from '../../../support/organizations.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const path = '/v1/user/profile'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ worker: false })
})
afterAll(() => server.close())

let client: Client & { email: string; password: string }
beforeEach(async () => {
  client = await registerClient(server.url, { organization: 'Engines', name: 'Ada' })
})

function readUser(email = client.email) {
  const users = server.application.db.selectFrom('users').selectAll()
  return users.where('email', '=', email).executeTakeFirstOrThrow()
}

/** Turns the account into one that an SSO sign-in has just created. */
async function makeIncomplete(): Promise<void> {
  const { db } = server.application
  await db.updateTable('users').set({ profile_incomplete: true }).where('email', '=', client.email).execute()
}

/** Adds the client to a second organization, which becomes current, and returns its id. */
async function joinAnother(): Promise<number> {
  const inviter = await registerClient(server.url, { organization: 'Looms' })
  const { invitation, token } = await invite(server, inviter, { email: client.email, role: 'viewer' })
  expect((await client.post(`/v1/invitations/by-token/${token}/accept`)).status).toBe(200)
  return invitation.organization_id
}

test('GET /v1/user/profile: returns the profile, with null for unset fields', async () => {
  const created_at = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  const expected = {
    email: client.email,
    name: 'Ada',
    first_name: null,
    last_name: null,
    country: null,
    contact_number: null,
    has_password: true,
    created_at,
  }
  const answer = await client.get(path)
  expect(answer).toMatchObject({ status: 200 })
  expect(answer.body).toEqual(expected)
  await client.patch(path, { first_name: 'Augusta', country: 'GB' })
  expect((await client.get(path)).body).toEqual({ ...expected, first_name: 'Augusta', country: 'GB' })
  const { db } = server.application
  await db.updateTable('users').set({ password_hash: null }).where('email', '=', client.email).execute()
  expect((await client.get(path)).body.has_password).toBe(false)
})

test('GET /v1/user/profile: 401 without a session', async () => {
  expect((await createClient(server.url).get(path)).status).toBe(401)
})

test('PATCH /v1/user/profile: 401 without a session', async () => {
  const answer = await createClient(server.url).patch(path, { name: 'Eve' })
  expect(answer).toMatchObject({ status: 401, body: { code: 'not_authenticated' } })
})

test('PATCH /v1/user/profile: changes every personal field and returns the updated session', async () => {
  const before = (await client.get('/v1/auth/session')).body
  const answer = await client.patch(path, {
    name: '  Ada Lovelace ',
    first_name: 'Augusta',
    last_name: 'King',
    country: 'United Kingdom',
    contact_number: '+44 20 7946 0000',
  })
  expect(answer.status).toBe(200)
  expect(answer.body).toEqual({ ...before, user: { ...before.user, name: 'Ada Lovelace' } })
  expect((await client.get('/v1/auth/session')).body).toEqual(answer.body)
  expect(await readUser()).toMatchObject({
    name: 'Ada Lovelace',
    first_name: 'Augusta',
    last_name: 'King',
    country: 'United Kingdom',
    contact_number: '+44 20 7946 0000',
  })
})

test('PATCH /v1/user/profile: omitted fields stay, null clears a field', async () => {
  await client.patch(path, { first_name: 'Augusta', last_name: 'King', country: 'UK', contact_number: '1' })
  await client.patch(path, { first_name: null, country: null })
  expect(await readUser()).toMatchObject({
    name: 'Ada',
    first_name: null,
    last_name: 'King',
    country: null,
    contact_number: '1',
  })
  await client.patch(path, { last_name: null, contact_number: null })
  expect(await readUser()).toMatchObject({ last_name: null, contact_number: null })
})

test('PATCH /v1/user/profile: an empty text clears a field', async () => {
  await client.patch(path, { country: 'Wales', contact_number: '7' })
  expect((await client.patch(path, { country: '', contact_number: ' ' })).status).toBe(200)
  expect((await client.get(path)).body).toMatchObject({ country: null, contact_number: null })
})

test('PATCH /v1/user/profile: a default name follows first and last name', async () => {
  const nameless = createClient(server.url)
  const email = `grace-${client.email}`
  await nameless.post('/v1/user/register', { email, password: client.password, organization: 'Navy' })
  const rename = async (body: object) => (await nameless.patch(path, body)).body.user.name
  expect(await rename({ first_name: 'Grace' })).toBe('Grace')
  expect(await rename({ last_name: 'Hopper' })).toBe('Grace Hopper')
  expect(await rename({ first_name: null, last_name: null })).toBe(email.split('@')[0])
  expect(await rename({ name: 'Amazing Grace', first_name: 'Grace' })).toBe('Amazing Grace')
  expect(await rename({ last_name: 'Hopper' })).toBe('Amazing Grace')
})

test.each([
  [{ name: null }, 'name'],
  [{ name: '' }, 'name'],
  [{ name: '   ' }, 'name'],
  [{ name: 'x'.repeat(256) }, 'name'],
  [{ name: 7 }, 'name'],
  [{ last_name: ['King'] }, 'last_name'],
  [{ country: 'a\0b' }, 'country'],
  [{ contact_number: 5 }, 'contact_number'],
  [{ organization: null }, 'organization'],
  [{ organization: ' ' }, 'organization'],
  [{ current_organization_id: '1' }, 'current_organization_id'],
  [{ current_organization_id: 1.5 }, 'current_organization_id'],
  [{ current_organization_id: null }, 'current_organization_id'],
])('PATCH /v1/user/profile: %j is a 422', async (body, field) => {
  const answer = await client.patch(path, body)
  expect(answer.status).toBe(422)
  expect(answer.body).toMatchObject({ code: 'validation_failed', errors: [{ location: 'body', field }] })
})

test('PATCH /v1/user/profile: accepts 255 characters and ignores unknown and read-only fields', async () => {
  const name = '🙂'.repeat(255)
  const before = await readUser()
  const body = { name, nickname: 'x', email: 'eve@example.com', profile_incomplete: true, role: 'viewer' }
  const answer = await client.patch(path, body)
  expect(answer.body.user).toMatchObject({ name, email: client.email, role: { name: 'super_admin' } })
  expect(await readUser()).toEqual({ ...before, name, updated_at: expect.any(Date) })
})

test('PATCH /v1/user/profile: a request without changes keeps updated_at', async () => {
  await client.patch(path, { country: 'UK' })
  const before = await readUser()
  const { current_organization_id } = before
  for (const body of [{}, { name: 'Ada' }, { country: ' UK ', first_name: null, current_organization_id }]) {
    expect((await client.patch(path, body)).status).toBe(200)
    expect(await readUser()).toEqual(before)
  }
  await client.patch(path, { country: 'FR' })
  expect((await readUser()).updated_at.getTime()).toBeGreaterThan(before.updated_at.getTime())
})

test('PATCH /v1/user/profile: current_organization_id switches all sessions of the user', async () => {
  const own = (await readUser()).current_organization_id
  const other = await joinAnother()
  const second = createClient(server.url)
  await second.post('/v1/user/signin', { email: client.email, password: client.password })
  expect((await second.get('/v1/auth/session')).body.user).toMatchObject({ organization: 'Looms' })
  const back = await client.patch(path, { current_organization_id: own })
  expect(back.body.user).toMatchObject({ organization: 'Engines', role: { name: 'super_admin' } })
  expect((await second.get('/v1/auth/session')).body.user).toMatchObject({ organization: 'Engines' })
  const switched = await client.patch(path, { current_organization_id: other })
  expect(switched.body.user).toMatchObject({ organization: 'Looms', role: { name: 'viewer' } })
})

test('PATCH /v1/user/profile: an organization of another user or an unknown one is a 404 and changes nothing', async () => {
  const stranger = await registerClient(server.url, { organization: 'Secrets' })
  const { current_organization_id: foreign } = await readUser(stranger.email)
  const before = await readUser()
  for (const id of [foreign, 0, -1, 999_999_999, Number.MAX_SAFE_INTEGER]) {
    const answer = await client.patch(path, { name: 'Eve', current_organization_id: id })
    expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } })
    expect(JSON.stringify(answer.body)).not.toContain('Secrets')
  }
  expect(await readUser()).toEqual(before)
})

test('PATCH /v1/user/profile: organization on a complete profile is a 409 and changes nothing', async () => {
  const before = await readUser()
  expect((await client.patch(path, { organization: 'Engines' })).status, 'unchanged').toBe(200)
  const answer = await client.patch(path, { name: 'Eve', organization: 'Another' })
  expect(answer).toMatchObject({ status: 409, body: { code: 'profile_complete' } })
  expect(await readUser()).toEqual(before)
  expect((await client.get('/v1/auth/session')).body.user).toMatchObject({
    name: 'Ada',
    organization: 'Engines',
  })
})

test('PATCH /v1/user/profile: an SSO account is complete once its organization is named', async () => {
  await makeIncomplete()
  const named = await client.patch(path, { name: 'Ada Lovelace' })
  expect(named.body.user).toMatchObject({ organization: 'Engines', requires_profile_completion: true })
  const complete = await client.patch(path, { organization: ' Analytical Engines ' })
  expect(complete.body.user).toMatchObject({
    name: 'Ada Lovelace',
    organization: 'Analytical Engines',
    role: { name: 'super_admin' },
    requires_profile_completion: false,
  })
  expect((await client.patch(path, { organization: 'Again' })).status).toBe(409)
})

test('PATCH /v1/user/profile: completing a profile never renames an organization of another user', async () => {
  await makeIncomplete()
  const other = await joinAnother()
  const answer = await client.patch(path, { organization: 'Mine' })
  expect(answer.body.user).toMatchObject({ organization: 'Looms', requires_profile_completion: false })
  const { db } = server.application
  const names = db.selectFrom('organizations').select('name').where('id', '=', other)
  expect(await names.execute()).toEqual([{ name: 'Looms' }])
  const { organization_id } = await db
    .selectFrom('memberships')
    .select('organization_id')
    .where('user_id', '=', (await readUser()).id)
    .where('role', '=', 'super_admin')
    .executeTakeFirstOrThrow()
  const back = await client.patch(path, { current_organization_id: organization_id })
  expect(back.body.user.organization).toBe('Mine')
})

test('PATCH /v1/user/profile: of 10 concurrent completions of one profile, one succeeds', async () => {
  await makeIncomplete()
  const names = Array.from({ length: 10 }, (_, index) => `Engines ${index}`)
  const answers = await Promise.all(names.map((organization) => client.patch(path, { organization })))
  const winners = names.filter((_, index) => answers[index]?.status === 200)
  expect(winners).toHaveLength(1)
  expect(answers.filter(({ status }) => status === 409)).toHaveLength(9)
  expect((await client.get('/v1/auth/session')).body.user.organization).toBe(winners[0])
})
