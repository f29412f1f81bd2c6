import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient } from '../../../support/client.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ worker: false })
})
afterAll(() => server.close())

let count = 0

/** Registers with a valid body, overridden by `fields`; undefined omits a field. */
function register(fields: Record<string, unknown> = {}) {
  count += 1
  const body = {
    email: `user-${count}@example.com`,
    password: 'correct horse battery',
    organization: 'Acme',
    ...fields,
  }
  return createClient(server.url).post('/v1/user/register', body)
}

function emailOfLength(length: number, character = 'a'): string {
  count += 1
  const domain = `@${count}.example`
  return character.repeat(length - domain.length) + domain
}

test('POST /v1/user/register: returns a Session and makes the caller super_admin of a new organization', async () => {
  const client = createClient(server.url)
  const before = Date.now()
  const answer = await client.post('/v1/user/register', {
    email: 'ada@example.com',
    password: 'correct horse battery',
    organization: 'Engines',
    name: 'Ada Lovelace',
  })
  expect(answer.status).toBe(200)
  expect(answer.body).toEqual({
    authenticated: true,
    user: {
      id: expect.any(Number),
      email: 'ada@example.com',
      name: 'Ada Lovelace',
      kind: 'person',
      organization: 'Engines',
      role: { id: 1, name: 'super_admin' },
      operator: false,
      requires_profile_completion: false,
      requires_email_verification: false,
      requires_second_factor_setup: false,
    },
    session: {
      expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      auth_method: 'password',
    },
  })
  const week = 7 * 24 * 3_600_000
  const expiresAt = Date.parse(answer.body.session.expires_at)
  expect(expiresAt).toBeGreaterThanOrEqual(before + week)
  expect(expiresAt).toBeLessThanOrEqual(Date.now() + week)
  expect((await client.get('/v1/auth/session')).body).toEqual(answer.body)
})

const accepted: [what: string, fields: () => Record<string, unknown>][] = [
  ['an email of 3 characters', () => ({ email: 'a@b' })],
  ['an email of 320 characters', () => ({ email: emailOfLength(320) })],
  ['an email of 320 emoji and letters', () => ({ email: emailOfLength(320, '🚢') })],
  ['an email of 320 characters between spaces', () => ({ email: `   ${emailOfLength(320)}   ` })],
  ['a password of 8 bytes', () => ({ password: 'ab 34 6!' })],
  ['a password of 8 bytes in 2 emoji', () => ({ password: '🚢🚢' })],
  ['a password of 72 bytes', () => ({ password: 'x'.repeat(72) })],
  ['a password of 72 bytes in 36 letters', () => ({ password: 'é'.repeat(36) })],
  ['a password of spaces', () => ({ password: ' '.repeat(8) })],
  ['an organization of 1 character', () => ({ organization: 'A' })],
  ['an organization of 255 characters', () => ({ organization: 'o'.repeat(255) })],
  ['an organization of 255 emoji', () => ({ organization: '🚢'.repeat(255) })],
  ['an organization without a letter', () => ({ organization: '!!!' })],
  [
    'every optional field',
    () => ({ name: 'A', first_name: 'B', last_name: 'C', country: 'GB', contact_number: '+44' }),
  ],
  ['unknown fields and ignores them', () => ({ role: 'admin', is_admin: true, id: 1, constructor: {} })],
]

test.each(accepted)('POST /v1/user/register: accepts %s', async (_what, fields) => {
  expect((await register(fields())).status).toBe(200)
})

const refused: [what: string, field: string, value: unknown][] = [
  ['an email of 2 characters', 'email', 'a@'],
  ['an email of 2 characters and spaces', 'email', ' @b '],
  ['an email of 321 characters', 'email', emailOfLength(321)],
  ['an email without @', 'email', 'ada.example.com'],
  ['an email with two @', 'email', 'a@b@c'],
  ['an email with a space inside', 'email', 'a da@example.com'],
  ['an email with nothing before @', 'email', '@example.com'],
  ['an email with NUL', 'email', 'a\0da@example.com'],
  ['an email with a lone surrogate', 'email', 'a\ud83d@example.com'],
  ['an email with İ, which lowercases to i', 'email', 'gİna@example.com'],
  ['an email with the Kelvin sign, which lowercases to k', 'email', 'ada@\u212aelvin.example'],
  ['no email', 'email', undefined],
  ['a null email', 'email', null],
  ['a number as email', 'email', 7],
  ['a list as email', 'email', ['ada@example.com']],
  ['a password of 7 bytes', 'password', '1234567'],
  ['a password of 73 bytes', 'password', 'x'.repeat(73)],
  ['a password of 74 bytes in 37 letters', 'password', 'é'.repeat(37)],
  ['a password of 6 bytes in 3 letters', 'password', 'ééé'],
  ['a password with a lone surrogate', 'password', 'battery\ud83d staple'],
  ['a password with NUL', 'password', 'battery\0staple'],
  ['no password', 'password', undefined],
  ['a number as password', 'password', 12_345_678],
  ['an empty organization', 'organization', ''],
  ['a blank organization', 'organization', ' \t\n\u00a0 '],
  ['an organization of 256 characters', 'organization', 'o'.repeat(256)],
  ['an organization of 256 emoji', 'organization', '🚢'.repeat(256)],
  ['an organization with NUL', 'organization', 'Ac\0me'],
  ['no organization', 'organization', undefined],
  ['an object as organization', 'organization', { name: 'Acme' }],
  ...['name', 'first_name', 'last_name', 'country', 'contact_number'].flatMap(
    (field): [string, string, unknown][] => [
      [`a number as ${field}`, field, 1],
      [`NUL in ${field}`, field, 'a\0b'],
      [`a ${field} of 256 characters`, field, 'n'.repeat(256)],
    ],
  ),
]

test.each(refused)('POST /v1/user/register: %s is a 422', async (_what, field, value) => {
  const answer = await register({ [field]: value })
  expect(answer.status).toBe(422)
  expect(answer.body).toMatchObject({ code: 'validation_failed', errors: [{ location: 'body', field }] })
})

test('POST /v1/user/register: lists all invalid fields at once', async () => {
  const answer = await register({ email: 'nobody', password: 'short', organization: undefined })
  expect(answer.status).toBe(422)
  const fields = answer.body.errors.map((error: { field: string }) => error.field)
  expect(fields).toEqual(['email', 'password', 'organization'])
  expect(answer.body.errors[2]).toMatchObject({ code: 'required', message: 'This field is required.' })
})

const names: [rule: string, fields: Record<string, unknown>, name: string][] = [
  ['name', { name: 'Ada', first_name: 'Augusta', last_name: 'King' }, 'Ada'],
  ['first_name last_name', { first_name: 'Augusta', last_name: 'King' }, 'Augusta King'],
  ['first_name alone', { first_name: 'Augusta' }, 'Augusta'],
  ['last_name alone', { last_name: 'King' }, 'King'],
  ['the part before @', { email: 'countess.of+lovelace@example.com' }, 'countess.of+lovelace'],
]

test.each(names)('POST /v1/user/register: user.name is %s', async (_rule, fields, name) => {
  expect((await register(fields)).body.user.name).toBe(name)
})

test.each([null, '', ' \t'])(
  'POST /v1/user/register: optional fields of %j count as not given',
  async (value) => {
    const fields = { name: value, first_name: value, last_name: value, country: value, contact_number: value }
    const email = `blank-${JSON.stringify(value).length}@example.com`
    const answer = await register({ ...fields, email })
    expect(answer).toMatchObject({ status: 200, body: { user: { name: email.split('@')[0] } } })
    const row = await server.application.db
      .selectFrom('users')
      .select(['first_name', 'last_name', 'country', 'contact_number'])
      .where('email', '=', email)
      .executeTakeFirstOrThrow()
    expect(Object.values(row)).toEqual([null, null, null, null])
  },
)

test('POST /v1/user/register: trims text fields but not the password', async () => {
  const password = '  battery staple  '
  const answer = await register({
    email: '  trim@example.com ',
    organization: ' Trim & Co ',
    name: ' T ',
    password,
  })
  expect(answer.body.user).toMatchObject({ email: 'trim@example.com', organization: 'Trim & Co', name: 'T' })
  const signIn = (tried: string) =>
    createClient(server.url).post('/v1/user/signin', { email: 'trim@example.com', password: tried })
  expect((await signIn(password.trim())).status).toBe(401)
  expect((await signIn(password)).status).toBe(200)
})

test.each([
  ['grace@example.com', 'GRACE@Example.COM'],
  ['ångström@example.com', 'ÅNGSTRÖM@example.com'],
])('POST /v1/user/register: %s is the same email as %s: 409 email_taken', async (email, same) => {
  expect((await register({ email })).status).toBe(200)
  const again = await register({ email: same })
  expect(again.status).toBe(409)
  expect(again.body.code).toBe('email_taken')
  expect(again.headers.get('set-cookie')).toBeNull()
})

test('POST /v1/user/register: of 20 concurrent registrations with one email, one succeeds and the others leave no rows', async () => {
  const organization = 'Twenty at once'
  const email = 'twenty@example.com'
  const answers = await Promise.all(Array.from({ length: 20 }, () => register({ email, organization })))
  const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b)
  expect(statuses).toEqual([200, ...Array.from({ length: 19 }, () => 409)])
  const { db } = server.application
  const rows = await db.selectFrom('organizations').select('id').where('name', '=', organization).execute()
  expect(rows).toHaveLength(1)
})

test('POST /v1/user/register: two registrations with the same organization name create two organizations', async () => {
  for (let time = 0; time < 2; time += 1) {
    expect((await register({ organization: 'Namesake' })).body.user.organization).toBe('Namesake')
  }
  const { db } = server.application
  const rows = await db.selectFrom('organizations').select('slug').where('name', '=', 'Namesake').execute()
  expect(new Set(rows.map(({ slug }) => slug)).size).toBe(2)
})
