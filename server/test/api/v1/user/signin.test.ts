import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildServer } from '../../../../src/process/server.ts'
import { createClient, registerClient } from '../../../support/client.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'
import { endSessionsAtOnce } from '../../../support/sessions.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ worker: false, settings: { TRUST_PROXY: '127.0.0.1' } })
})
afterAll(() => server.close())

const rightPassword = 'correct horse battery'

/** Signs in from an IP address. Each test uses its own addresses, because failures count per address. */
function signIn(email: string, password: string, address: string) {
  return createClient(server.url).request(
    'POST',
    '/v1/user/signin',
    { email, password },
    { 'x-forwarded-for': address },
  )
}

test('POST /v1/user/signin: returns a Session and sets the cookie', async () => {
  const registered = await registerClient(server.url, { email: 'ada@example.com' })
  const client = createClient(server.url)
  const answer = await client.post('/v1/user/signin', { email: 'ada@example.com', password: rightPassword })
  expect(answer.status).toBe(200)
  const session = (await client.get('/v1/auth/session')).body
  expect(answer.body).toEqual(session)
  expect(session.user).toEqual((await registered.get('/v1/auth/session')).body.user)
})

test.each([
  ['an unknown email', 'nobody@example.com', rightPassword],
  ['a wrong password', 'wrong@example.com', 'wrong horse battery'],
  ['the password in another case', 'wrong@example.com', rightPassword.toUpperCase()],
  ['the password with a space after it', 'wrong@example.com', `${rightPassword} `],
  ['an empty password', 'wrong@example.com', ''],
  ['an invalid email', '%', rightPassword],
])(
  'POST /v1/user/signin: %s is a 401 with the same message and no cookie',
  async (_what, email, password) => {
    await createClient(server.url).post('/v1/user/register', {
      email: 'wrong@example.com',
      password: rightPassword,
      organization: 'Acme',
    })
    const answer = await signIn(email, password, '10.1.0.1')
    expect(answer.status).toBe(401)
    expect(answer.body).toEqual({
      type: 'about:blank',
      title: 'Unauthorized',
      status: 401,
      detail: 'Invalid email or password.',
      code: 'invalid_credentials',
      request_id: answer.headers.get('x-request-id'),
    })
    expect(answer.headers.get('set-cookie')).toBeNull()
  },
)

test('POST /v1/user/signin: trims the email and ignores case', async () => {
  await registerClient(server.url, { email: 'Grace@Example.com' })
  const answer = await signIn('  gRACE@eXAMPLE.COM ', rightPassword, '10.1.0.2')
  expect(answer.status).toBe(200)
  expect(answer.body.user.email).toBe('Grace@Example.com')
})

test.each(['/v1/user/signin', '/v1/user/register'])(
  'POST %s: issues a new token and revokes the one in the request if it is the same user’s',
  async (path) => {
    const client = await registerClient(server.url)
    const old = client.cookie()
    const { email, password } = client
    const fresh = { email: `again-${email}`, password, organization: 'Acme' }
    const answer = await client.post(path, path.endsWith('register') ? fresh : { email, password })
    expect(answer.status).toBe(200)
    expect(client.cookie()).not.toBe(old)
    expect((await client.get('/v1/auth/session')).status).toBe(200)
    const earlier = createClient(server.url)
    earlier.setCookie(old)
    expect((await earlier.get('/v1/auth/session')).status).toBe(path.endsWith('register') ? 200 : 401)
  },
)

test('POST /v1/user/signin: a failed sign-in keeps the current session', async () => {
  const client = await registerClient(server.url)
  const cookie = client.cookie()
  expect((await client.post('/v1/user/signin', { email: client.email, password: 'wrong' })).status).toBe(401)
  expect(client.cookie()).toBe(cookie)
  expect((await client.get('/v1/auth/session')).status).toBe(200)
})

test('POST /v1/user/signin: 429 with Retry-After after 10 failures for an account, even with the right password', async () => {
  const { email } = await registerClient(server.url)
  for (let time = 0; time < 10; time += 1) {
    const spelling = time % 2 === 0 ? email : ` ${email.toUpperCase()} `
    expect((await signIn(spelling, 'wrong password', `10.2.0.${time}`)).status).toBe(401)
  }
  for (const password of ['wrong password', rightPassword]) {
    const answer = await signIn(email, password, '10.2.1.1')
    expect(answer.status).toBe(429)
    expect(answer.body.code).toBe('rate_limited')
    const seconds = Number(answer.headers.get('retry-after'))
    expect(Number.isInteger(seconds)).toBe(true)
    expect(seconds).toBeGreaterThan(0)
    expect(seconds).toBeLessThanOrEqual(15 * 60)
  }
  const other = await registerClient(server.url)
  expect((await signIn(other.email, rightPassword, '10.2.1.1')).status).toBe(200)
})

test.each(['registered-if@example.com', 'unknown-if@example.com'])(
  'POST /v1/user/signin: spellings of the same email share a counter: %s',
  async (email) => {
    if (email.startsWith('registered')) await registerClient(server.url, { email })
    // PostgreSQL lowercases İ to i; JavaScript does not.
    const spellings = [email, email.replace('-i', '-İ'), email.replace('-i', '-I')]
    for (let time = 0; time < 10; time += 1) {
      expect((await signIn(spellings[time % 3]!, 'wrong password', `10.10.0.${time}`)).status).toBe(401)
    }
    for (const spelling of spellings) {
      expect((await signIn(spelling, rightPassword, '10.10.1.1')).status).toBe(429)
    }
  },
)

test('POST /v1/user/signin: a session that ends before the response is a 401 invalid_credentials', async () => {
  const { email } = await registerClient(server.url)
  await endSessionsAtOnce(server.application.db)
  for (const [path, body] of [
    ['signin', { email, password: rightPassword }],
    ['register', { email: `new-${email}`, password: rightPassword, organization: 'Acme' }],
  ] as const) {
    const answer = await createClient(server.url).post(`/v1/user/${path}`, body)
    expect([path, answer.status, answer.body.code]).toEqual([path, 401, 'invalid_credentials'])
    expect(answer.headers.get('set-cookie')).toBeNull()
  }
})

test('POST /v1/user/signin: successes do not count', async () => {
  const { email } = await registerClient(server.url)
  for (let time = 0; time < 12; time += 1) {
    expect((await signIn(email, rightPassword, '10.3.0.1')).status).toBe(200)
  }
})

test('POST /v1/user/signin: of 30 concurrent wrong attempts, at most 10 are checked', async () => {
  const { email } = await registerClient(server.url)
  const tries = Array.from({ length: 30 }, (_, index) => signIn(email, 'wrong password', `10.4.0.${index}`))
  const statuses = (await Promise.all(tries)).map(({ status }) => status)
  expect(statuses.filter((status) => status === 401)).toHaveLength(10)
  expect(statuses.filter((status) => status === 429)).toHaveLength(20)
})

test('POST /v1/user/signin: 30 concurrent right attempts do not count, whether admitted or refused', async () => {
  const { email } = await registerClient(server.url)
  const tries = Array.from({ length: 30 }, () => signIn(email, rightPassword, '10.8.0.1'))
  const statuses = (await Promise.all(tries)).map(({ status }) => status)
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(10)
  expect(new Set([...statuses, 200, 429])).toEqual(new Set([200, 429]))
  expect((await signIn(email, rightPassword, '10.8.0.1')).status).toBe(200)
  for (let time = 0; time < 10; time += 1) {
    expect((await signIn(email, 'wrong password', '10.8.0.1')).status).toBe(401)
  }
  expect((await signIn(email, rightPassword, '10.8.0.1')).status).toBe(429)
})

test('POST /v1/user/signin: attempts refused by a locked account do not count against the address', async () => {
  const { email } = await registerClient(server.url)
  for (let time = 0; time < 10; time += 1) await signIn(email, 'wrong password', `10.9.0.${time}`)
  for (let time = 0; time < 100; time += 1) {
    expect((await signIn(email, rightPassword, '10.9.1.1')).status).toBe(429)
  }
  const other = await registerClient(server.url)
  expect((await signIn(other.email, rightPassword, '10.9.1.1')).status).toBe(200)
})

test('POST /v1/user/signin: 429 after 100 failures from an address; other addresses are unaffected', async () => {
  const { email } = await registerClient(server.url)
  const tries = Array.from({ length: 100 }, (_, index) => signIn(`no-${index}@example.com`, 'x', '10.5.0.1'))
  expect(new Set((await Promise.all(tries)).map(({ status }) => status))).toEqual(new Set([401]))
  const answer = await signIn(email, rightPassword, '10.5.0.1')
  expect(answer.status).toBe(429)
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await signIn(email, rightPassword, '10.5.0.2')).status).toBe(200)
})

test('POST /v1/user/signin: ignores X-Forwarded-For without TRUST_PROXY', async () => {
  const config = { ...server.application.config, trustProxy: false as const }
  const app = await buildServer({ ...server.application, config })
  const tries = Array.from({ length: 101 }, (_, index) =>
    app.inject({
      method: 'POST',
      url: '/v1/user/signin',
      remoteAddress: '10.7.0.1',
      headers: { 'x-forwarded-for': `10.7.1.${index}`, forwarded: `for=10.7.1.${index}` },
      payload: { email: `nobody-${index}@example.com`, password: 'x' },
    }),
  )
  const statuses = (await Promise.all(tries)).map(({ statusCode }) => statusCode)
  expect(statuses.filter((status) => status === 429)).toHaveLength(1)
  await app.close()
})

test('POST /v1/user/signin: stores only the SHA-256 of a token; tables and logs contain neither token nor password', async () => {
  const password = 'a-password-to-look-for'
  const email = 'secret@example.com'
  const client = createClient(server.url)
  await client.post('/v1/user/register', { email, password, organization: 'Acme' })
  await signIn(email, `wrong-${password}`, '10.6.0.1')
  expect((await client.post('/v1/user/signin', { email, password })).status).toBe(200)
  const token = client.cookie().split('=')[1] ?? ''
  expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/)

  const { db } = server.application
  const hash = createHash('sha256').update(token).digest()
  const found = await db.selectFrom('sessions').select('id').where('token_hash', '=', hash).execute()
  expect(found).toHaveLength(1)
  const dump = await dumpTables()
  expect(dump).toContain(email)
  expect(dump).toContain(hash.toString('hex'))
  expect(dump).toMatch(/\$argon2id\$/)
  for (const secret of [token, Buffer.from(token, 'base64url').toString('hex'), password]) {
    expect(dump).not.toContain(secret)
    expect(server.logs.join('')).not.toContain(secret)
  }
  expect(server.logs.join('')).toContain('/v1/user/signin')
})

/** Every row of every table as text, including the job queue's. */
async function dumpTables(): Promise<string> {
  const { db } = server.application
  const tables = await sql<{ name: string }>`
    SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
    WHERE schemaname NOT IN ('pg_catalog', 'information_schema')
  `.execute(db)
  const dumps = tables.rows.map(({ name }) =>
    sql<{ row: string }>`SELECT t::text AS row FROM ${sql.raw(name)} t`.execute(db),
  )
  return (await Promise.all(dumps)).flatMap(({ rows }) => rows.map(({ row }) => row)).join('\n')
}
