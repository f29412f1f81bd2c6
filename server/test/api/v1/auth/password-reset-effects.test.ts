import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import pg from 'pg'
import { replaceReset } from '../../../../src/features/sign-in/password-reset-store.ts'
import { startPasswordSession } from '../../../../src/features/sign-in/start-password-session.ts'
import { signIn as signInAs } from '../../../../src/features/sign-in/sign-in.ts'
import { lockAccountByEmail } from '../../../../src/features/accounts/lock-account.ts'
import { serverActor } from '../../../../src/base/viewer.ts'
import { createClient, registerClient } from '../../../support/client.ts'
import type { Client } from '../../../support/client.ts'
import { linkIn, startMailServer } from '../../../support/mail.ts'
import type { MailServer } from '../../../support/mail.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const request = '/v1/auth/password-reset/request'
const confirm = '/v1/auth/password-reset/confirm'
const newPassword = 'a better battery'

let mails: MailServer
let server: TestServer
let anonymous: Client
beforeAll(async () => {
  mails = await startMailServer()
  server = await startTestServer({ settings: { MAIL_URL: mails.url } })
  anonymous = createClient(server.url)
})
afterAll(async () => {
  await server.close()
  await mails.stop()
})

let client: Client & { email: string; password: string }
beforeEach(async () => {
  client = await registerClient(server.url)
  await mails.waitForVerification(client.email)
})

async function fetchToken(): Promise<string> {
  await anonymous.post(request, { email: client.email })
  return linkIn(await mails.waitForMail(client.email)).searchParams.get('token') ?? ''
}

function signIn(password: string) {
  return createClient(server.url).post('/v1/user/signin', { email: client.email, password })
}

function readUser() {
  const users = server.application.db.selectFrom('users').selectAll()
  return users.where('email', '=', client.email).executeTakeFirstOrThrow()
}

test('POST /v1/auth/password-reset/confirm: ends every session of the account and no other session', async () => {
  const other = await registerClient(server.url)
  const second = createClient(server.url)
  await second.post('/v1/user/signin', { email: client.email, password: client.password })
  expect((await second.get('/v1/auth/session')).status).toBe(200)
  await anonymous.post(confirm, { token: await fetchToken(), password: newPassword })
  for (const session of [client, second]) expect((await session.get('/v1/auth/session')).status).toBe(401)
  expect((await other.get('/v1/auth/session')).status).toBe(200)
})

test('POST /v1/auth/password-reset/confirm: concurrent sign-ins with the old password leave no session', async () => {
  const token = await fetchToken()
  const clients = Array.from({ length: 12 }, () => createClient(server.url))
  const credentials = { email: client.email, password: client.password }
  const signIns = clients.map((each) => each.post('/v1/user/signin', credentials))
  const reset = anonymous.post(confirm, { token, password: newPassword })
  const answers = await Promise.all(signIns)
  expect((await reset).status).toBe(200)
  for (const { status } of answers) expect([200, 401, 429]).toContain(status)
  for (const each of clients) expect((await each.get('/v1/auth/session')).status).toBe(401)
})

test('POST /v1/auth/password-reset/confirm: a sign-in that already checked the old password gets no session', async () => {
  const token = await fetchToken()
  const account = await signInAs(server.application, serverActor, client)
  await anonymous.post(confirm, { token, password: newPassword })
  const session = startPasswordSession(server.application, serverActor, account, null)
  await expect(session).rejects.toMatchObject({ code: 'invalid_credentials' })
})

test('POST /v1/auth/password-reset/confirm: waits while a newer link is issued, then refuses the older link', async () => {
  const token = await fetchToken()
  const { db } = server.application
  const now = Date.now()
  const [confirmed] = await db.transaction().execute(async (transaction) => {
    const user = await lockAccountByEmail(transaction, client.email)
    const answer = anonymous.post(confirm, { token, password: newPassword })
    await expect.poll(countWaiting).toBe(1)
    await replaceReset(transaction, {
      userId: user!.id,
      nonce: 'another',
      tokenHash: randomBytes(32),
      at: new Date(now),
      expiresAt: new Date(now + 60_000),
    })
    // Wrapped in an array, so that the transaction does not await the response.
    return [answer]
  })
  const { status, body } = await confirmed
  expect([status, body.code]).toEqual([400, 'invalid_or_expired_token'])
})

test('POST /v1/auth/password-reset/confirm: sets email_verified_at once', async () => {
  expect((await readUser()).email_verified_at).toBeNull()
  await anonymous.post(confirm, { token: await fetchToken(), password: newPassword })
  expect((await readUser()).email_verified_at).toBeInstanceOf(Date)
})

test('POST /v1/auth/password-reset/confirm: sets the first password of an account without one', async () => {
  const { db } = server.application
  await db.updateTable('users').set({ password_hash: null }).where('email', '=', client.email).execute()
  expect((await signIn(client.password)).status).toBe(401)
  await anonymous.post(confirm, { token: await fetchToken(), password: newPassword })
  expect((await signIn(newPassword)).status).toBe(200)
})

test('POST /v1/auth/password-reset/confirm: a new password resets the failed sign-ins', async () => {
  for (let count = 0; count < 10; count += 1) expect((await signIn('a wrong guess')).status).toBe(401)
  expect((await signIn(client.password)).status).toBe(429)
  await anonymous.post(confirm, { token: await fetchToken(), password: newPassword })
  expect((await signIn(newPassword)).status).toBe(200)
})

test('password reset: if the mail server is down, the request succeeds and the email is sent later', async () => {
  await mails.stop()
  expect((await anonymous.post(request, { email: client.email })).body).toEqual({ accepted: true })
  const { db } = server.application
  const attempts = async () =>
    (
      await db
        .selectFrom('mails')
        .select('attempts')
        .where('recipient', '=', client.email)
        .where('kind', '=', 'password_reset')
        .executeTakeFirst()
    )?.attempts
  await expect.poll(attempts).toBeGreaterThan(0)
  await mails.start()
  const token = linkIn(await mails.waitForMail(client.email)).searchParams.get('token')
  expect((await anonymous.post(confirm, { token, password: newPassword })).status).toBe(200)
})

test('password reset: a link quoted in a mail server’s error reaches neither the database nor the log', async () => {
  mails.faults.push({ to: client.email, at: 'DATA', code: 451, quote: true })
  const token = await fetchToken()
  const { db } = server.application
  const rows = await db
    .selectFrom('mails')
    .selectAll()
    .where('recipient', '=', client.email)
    .where('kind', '=', 'password_reset')
    .execute()
  expect(rows).toMatchObject([{ attempts: 2 }])
  const refusal = server.logs.find((line) => line.includes('451') && line.includes('request to reset'))
  expect(refusal).toContain('[link]')
  expect(refusal).not.toContain(token)
  expect(await dumpDatabase()).not.toContain(token)
})

test('password reset: neither the database nor the log contains tokens or passwords', async () => {
  const token = await fetchToken()
  const before = await dumpDatabase()
  await anonymous.post(confirm, {
    token: 'a-wrong-token-that-was-typed-in',
    password: 'a refused passphrase',
  })
  await anonymous.post(confirm, { token, password: newPassword })
  await mails.waitForMail(client.email, 2)
  const dump = before + (await dumpDatabase())
  expect(dump).toContain(client.email)
  const session = client.cookie().split('=')[1]!
  const secrets = [token, newPassword, client.password, session, 'a refused passphrase', 'a-wrong-token-that']
  for (const place of [dump, server.logs.join('')]) {
    for (const secret of [...secrets, Buffer.from(token).toString('hex'), server.application.secretKey]) {
      expect(place.includes(secret)).toBe(false)
    }
  }
})

/** The number of queries that wait for a lock. */
async function countWaiting(): Promise<number> {
  const { rows } = await sql<{ waiting: number }>`
    SELECT count(*) AS waiting FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`.execute(server.application.db)
  return rows[0]!.waiting
}

/** Every row of every table as text, including the job queue's. */
async function dumpDatabase(): Promise<string> {
  const connection = new pg.Client({ connectionString: server.application.config.databaseUrl! })
  await connection.connect()
  try {
    const { rows: tables } = await connection.query<{ name: string }>(
      `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
       WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
    )
    let dump = ''
    for (const { name } of tables) {
      const { rows } = await connection.query<{ row: string }>(`SELECT t::text AS row FROM ${name} t`)
      dump += `${name}\n${rows.map(({ row }) => row).join('\n')}\n`
    }
    return dump
  } finally {
    await connection.end()
  }
}
