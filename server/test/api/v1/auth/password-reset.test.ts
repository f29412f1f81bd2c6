import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { createClient, registerClient } from '../../../support/client.ts'
import type { Client } from '../../../support/client.ts'
import { linkIn, startMailServer } from '../../../support/mail.ts'
import type { MailServer } from '../../../support/mail.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const minute = 60_000
const request = '/v1/auth/password-reset/request'
const confirm = '/v1/auth/password-reset/confirm'
const newPassword = 'a better battery'

let ahead = 0
let mails: MailServer
let server: TestServer
let anonymous: Client
beforeAll(async () => {
  mails = await startMailServer()
  server = await startTestServer({
    settings: { MAIL_URL: mails.url, PUBLIC_URL: 'https://berth.example.com' },
    clock: () => new Date(Date.now() + ahead),
  })
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
afterEach(() => {
  ahead = 0
})

/** Requests a reset and returns the token of the n-th link sent to the account. */
async function fetchToken(count = 1): Promise<string> {
  expect((await anonymous.post(request, { email: client.email })).body).toEqual({ accepted: true })
  const link = linkIn(await mails.waitForMail(client.email, count))
  expect(link.origin + link.pathname).toBe('https://berth.example.com/reset-password')
  return link.searchParams.get('token') ?? ''
}

function signIn(password: string, email = client.email) {
  return createClient(server.url).post('/v1/user/signin', { email, password })
}

/** The number of jobs of a kind that were enqueued, and the number still unfinished. */
async function countJobs(task: string) {
  const { db } = server.application
  const jobs = db.withSchema('pgboss').selectFrom('job' as never) as ReturnType<typeof db.selectFrom<'mails'>>
  const rows = await jobs
    .select(['data', 'state'] as never[])
    .where('name' as never, '=', task as never)
    .execute()
  return rows as unknown as { data: { email: string }; state: string }[]
}

async function waitUntilHandled(email: string, count = 1) {
  const done = async () =>
    (await countJobs('request-password-reset')).filter(
      ({ data, state }) => data.email === email && state === 'completed',
    ).length
  await expect.poll(done).toBe(count)
}

const invalidToken = { status: 400, code: 'invalid_or_expired_token' }

test('POST /v1/auth/password-reset/*: the emailed link sets a new password, and a confirmation email follows', async () => {
  const token = await fetchToken()
  expect(token).toMatch(/^[\w-]{43}$/)
  const answer = await anonymous.post(confirm, { token, password: newPassword })
  expect(answer).toMatchObject({ status: 200, body: { reset: true } })
  expect(answer.headers.get('set-cookie')).toBeNull()
  expect((await signIn(client.password)).status).toBe(401)
  expect((await signIn(newPassword)).status).toBe(200)
  const confirmation = await mails.waitForMail(client.email, 2)
  expect(confirmation.subject).toBe('Your Berth password was changed')
  expect(confirmation.text).not.toMatch(/https?:/)
})

test('POST /v1/auth/password-reset/request: the email states its purpose, the expiry and what to do', async () => {
  await fetchToken()
  const mail = await mails.waitForMail(client.email)
  expect(mail.recipients).toEqual([client.email])
  expect(mail.subject).toBe('Reset your Berth password')
  for (const part of [mail.text, mail.html]) {
    expect(part).toContain(client.email)
    expect(part).toContain('expires in one hour')
    expect(part).toContain('If you didn’t request this')
  }
  expect(mail.html).toContain(`href="${linkIn(mail).href}"`)
})

test('POST /v1/auth/password-reset/request: ignores case and sends the email to the stored address', async () => {
  await anonymous.post(request, { email: `  ${client.email.toUpperCase()} ` })
  expect((await mails.waitForMail(client.email)).recipients).toEqual([client.email])
})

test('POST /v1/auth/password-reset/request: same response and same work with or without an account', async () => {
  const unknown = `nobody-${client.email}`
  const answers = await Promise.all(
    [client.email, unknown].map((email) => anonymous.post(request, { email })),
  )
  for (const { status, body, headers } of answers) {
    expect({ status, body }).toEqual({ status: 200, body: { accepted: true } })
    expect(headers.get('set-cookie')).toBeNull()
  }
  expect([...answers[0]!.headers.keys()]).toEqual([...answers[1]!.headers.keys()])
  await Promise.all([waitUntilHandled(client.email), waitUntilHandled(unknown)])
  await mails.waitForMail(client.email)
  expect(mails.received.some(({ recipients }) => recipients.includes(unknown))).toBe(false)
})

test('POST /v1/auth/password-reset/request: only enqueues a job', async () => {
  const idle = await startTestServer({ worker: false })
  const { email } = await registerClient(idle.url)
  const { db } = idle.application
  for (const address of [email, 'nobody@example.com']) {
    expect((await createClient(idle.url).post(request, { email: address })).status).toBe(200)
  }
  expect(await db.selectFrom('password_resets').selectAll().execute()).toEqual([])
  expect(
    await db.selectFrom('mails').selectAll().where('kind', '<>', 'email_verification').execute(),
  ).toEqual([])
  await idle.close()
})

test.each(['', 'ab', 'nobody', 'a@b@c', 'a b@example.com', 'x'.repeat(320)])(
  'POST /v1/auth/password-reset/request: accepts %j, without an email',
  async (email) => {
    expect(await anonymous.post(request, { email })).toMatchObject({ status: 200, body: { accepted: true } })
  },
)

test.each([undefined, null, 7, 'a@b\0c', 'x'.repeat(321)])(
  'POST /v1/auth/password-reset/request: %j is no text of up to 320 characters, a 422',
  async (email) => {
    const answer = await anonymous.post(request, { email })
    expect(answer.status).toBe(422)
    expect(answer.body).toMatchObject({ code: 'validation_failed', errors: [{ field: 'email' }] })
  },
)

test('POST /v1/auth/password-reset/request: after 5 an hour, accepts the request but sends nothing; the last link still works', async () => {
  let token = ''
  for (let count = 1; count <= 5; count += 1) token = await fetchToken(count)
  expect((await anonymous.post(request, { email: client.email })).body).toEqual({ accepted: true })
  await waitUntilHandled(client.email, 6)
  const { db } = server.application
  const sent = () =>
    db
      .selectFrom('mails')
      .select('id')
      .where('recipient', '=', client.email)
      .where('kind', '=', 'password_reset')
      .execute()
  expect(await sent()).toHaveLength(5)
  expect((await anonymous.post(confirm, { token, password: newPassword })).status).toBe(200)
  ahead = 60 * minute
  await fetchToken(7)
})

test('POST /v1/auth/password-reset/confirm: a newer link invalidates the older one', async () => {
  const older = await fetchToken()
  const newer = await fetchToken(2)
  expect(newer).not.toBe(older)
  expect((await anonymous.post(confirm, { token: older, password: newPassword })).body).toMatchObject(
    invalidToken,
  )
  expect((await anonymous.post(confirm, { token: newer, password: newPassword })).status).toBe(200)
})

test('POST /v1/auth/password-reset/confirm: a link works once', async () => {
  const token = await fetchToken()
  expect((await anonymous.post(confirm, { token, password: newPassword })).status).toBe(200)
  expect((await anonymous.post(confirm, { token, password: 'yet another one' })).body).toMatchObject(
    invalidToken,
  )
  expect((await signIn(newPassword)).status).toBe(200)
})

test('POST /v1/auth/password-reset/confirm: a link expires after one hour', async () => {
  const token = await fetchToken()
  ahead = 60 * minute
  expect((await anonymous.post(confirm, { token, password: newPassword })).body).toMatchObject(invalidToken)
  ahead = 59 * minute
  expect((await anonymous.post(confirm, { token, password: newPassword })).status).toBe(200)
})

test('POST /v1/auth/password-reset/confirm: of 20 concurrent requests, one succeeds and its password is set', async () => {
  const token = await fetchToken()
  const passwords = Array.from({ length: 20 }, (_, index) => `battery number ${index}`)
  const answers = await Promise.all(passwords.map((password) => anonymous.post(confirm, { token, password })))
  const winners = passwords.filter((_, index) => answers[index]?.status === 200)
  expect(winners).toHaveLength(1)
  expect(answers.filter(({ body }) => body.code === 'invalid_or_expired_token')).toHaveLength(19)
  expect((await signIn(winners[0]!)).status).toBe(200)
})

test('POST /v1/auth/password-reset/confirm: a rejected password does not use up the link', async () => {
  const token = await fetchToken()
  for (const password of ['x'.repeat(7), 'x'.repeat(73), 'ä'.repeat(37), 12_345_678, null, undefined]) {
    const answer = await anonymous.post(confirm, { token, password })
    expect(answer.status).toBe(422)
    expect(answer.body.errors).toMatchObject([{ field: 'password' }])
  }
  expect((await anonymous.post(confirm, { token, password: 'x'.repeat(72) })).status).toBe(200)
})

test.each(['', 'x', 'A'.repeat(43), 'x'.repeat(10_000), '../..', "' OR 1=1 --"])(
  'POST /v1/auth/password-reset/confirm: the token %j is a 400',
  async (token) => {
    const answer = await anonymous.post(confirm, { token, password: newPassword })
    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject(invalidToken)
  },
)

test.each([undefined, null, 7, {}, 'a\0b'])(
  'POST /v1/auth/password-reset/confirm: %j as token is a 422',
  async (token) => {
    const answer = await anonymous.post(confirm, { token, password: newPassword })
    expect(answer.status).toBe(422)
    expect(answer.body.errors).toMatchObject([{ field: 'token' }])
  },
)
