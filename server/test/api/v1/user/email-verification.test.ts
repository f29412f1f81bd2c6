import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createClient, registerClient } from '../../../support/client.ts'
import { createTestClock, day, hour } from '../../../support/clock.ts'
import { startMailServer } from '../../../support/mail.ts'
import type { MailServer } from '../../../support/mail.ts'
import { invite, readInvitationToken, registerProven } from '../../../support/organizations.ts'
import type { Account } from '../../../support/organizations.ts'
import { createScriptedRuntime } from '../../../support/scripted-runtime.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const request = '/v1/user/email-verification/request'
const confirm = '/v1/user/email-verification/confirm'
const clock = createTestClock()

let mails: MailServer
let server: TestServer
let withoutMail: TestServer
beforeAll(async () => {
  mails = await startMailServer()
  server = await startTestServer({
    runtime: createScriptedRuntime(),
    settings: { MAIL_URL: mails.url, EMAIL_CONFIRMATION: 'required' },
    clock: clock.now,
  })
  withoutMail = await startTestServer({ worker: false })
})
afterAll(async () => {
  await server.close()
  await withoutMail.close()
  await mails.stop()
})

let client: Account
beforeEach(async () => {
  client = await registerClient(server.url)
})

async function isVerified({ email }: Account): Promise<boolean> {
  const users = server.application.db.selectFrom('users').select('email_verified_at')
  return (await users.where('email', '=', email).executeTakeFirstOrThrow()).email_verified_at !== null
}

test('POST /v1/user/register: emails a link that proves the address in a session of the account', async () => {
  expect((await client.get('/v1/auth/session')).body.user.requires_email_verification).toBe(true)
  const token = await mails.waitForVerification(client.email)
  expect((await client.post(confirm, { token })).body).toEqual({ verified: true })
  expect((await client.get('/v1/auth/session')).body.user.requires_email_verification).toBe(false)
  expect((await client.post(confirm, { token })).status).toBe(200)
})

test('POST …/email-verification/confirm: the link proves nothing without a session of its account', async () => {
  const token = await mails.waitForVerification(client.email)
  expect((await createClient(server.url).post(confirm, { token })).status).toBe(401)
  const other = await registerClient(server.url)
  const refused = await other.post(confirm, { token })
  expect([refused.status, refused.body.code]).toEqual([403, 'verification_email_mismatch'])
  expect(await isVerified(client)).toBe(false)
})

test('POST …/email-verification/confirm: an unknown, replaced or expired link is a 400 invalid_or_expired_token', async () => {
  const first = await mails.waitForVerification(client.email)
  expect((await client.post(request)).body).toEqual({ accepted: true })
  const second = await mails.waitForVerification(client.email, 2)
  for (const token of ['A'.repeat(43), first]) {
    const answer = await client.post(confirm, { token })
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_or_expired_token'])
  }
  clock.advance(7 * day)
  const later = createClient(server.url)
  await later.post('/v1/user/signin', { email: client.email, password: client.password })
  expect((await later.post(confirm, { token: second })).status).toBe(400)
  expect(await isVerified(client)).toBe(false)
})

test('POST …/email-verification/request: at most 5 emails an hour, none for a proven address', async () => {
  for (let count = 0; count < 5; count += 1) expect((await client.post(request)).status).toBe(200)
  const refused = await client.post(request)
  expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited'])
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  clock.advance(hour)
  expect((await client.post(request)).status).toBe(200)
  const proven = await registerProven(server)
  expect((await proven.post(request)).body).toEqual({ accepted: true })
  const rows = await server.application.db
    .selectFrom('mails')
    .select('id')
    .where('recipient', '=', proven.email)
    .execute()
  expect(rows).toHaveLength(1)
})

test('an unproven address can neither invite nor deploy, nor see or reject invitations: 403 email_unproven', async () => {
  const owner = await registerProven(server)
  const { invitation } = await invite(server, owner, { email: client.email })
  const refusals = [
    client.post('/v1/organization/invitations', { email: 'guest@example.com' }),
    client.post('/v1/organization/invitations/1/resend'),
    client.post('/api/v1/model-deployments', { model_name: 'berth-tiny' }),
    client.get('/v1/invitations'),
    client.post(`/v1/invitations/${invitation.id}/reject`),
  ]
  for (const { status, body } of await Promise.all(refusals)) {
    expect([status, body.code]).toEqual([403, 'email_unproven'])
  }
  // The emailed token proves the address.
  const token = await readInvitationToken(server, invitation.id)
  expect((await client.post(`/v1/invitations/by-token/${token}/accept`)).status).toBe(200)
  expect((await client.get('/v1/invitations')).status).toBe(200)
})

test('a proven address can invite and deploy in sessions that began before', async () => {
  const second = createClient(server.url)
  await second.post('/v1/user/signin', { email: client.email, password: client.password })
  await client.post(confirm, { token: await mails.waitForVerification(client.email) })
  const deployed = await second.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })
  expect(deployed.status).toBe(201)
  expect((await second.delete(`/api/v1/model-deployments/${deployed.body.id}`)).status).toBe(200)
  const email = `guest-of-${client.email}`
  expect((await second.post('/v1/organization/invitations', { email })).status).toBe(200)
})

test('without MAIL_URL nothing depends on a proven address, and registering sends no email', async () => {
  const alone = await registerClient(withoutMail.url)
  expect((await alone.get('/v1/auth/session')).body.user.requires_email_verification).toBe(false)
  expect((await alone.get('/v1/invitations')).status).toBe(200)
  expect((await alone.post('/v1/organization/invitations', { email: 'guest@example.com' })).status).toBe(200)
  expect((await alone.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })).status).toBe(201)
  const kinds = await withoutMail.application.db.selectFrom('mails').select('kind').execute()
  expect(kinds).toEqual([{ kind: 'invitation' }])
})

test('EMAIL_CONFIRMATION is off unless set: an account deploys and invites at once, and can still prove its address', async () => {
  const settings = { MAIL_URL: mails.url }
  const trusting = await startTestServer({ settings })
  try {
    const person = await registerClient(trusting.url)
    expect((await person.get('/v1/auth/session')).body.user.requires_email_verification).toBe(false)
    expect((await person.post('/api/v1/model-deployments', { model_name: 'no-such-model' })).status).toBe(422)
    const email = 'guest-of-trusting@example.com'
    expect((await person.post('/v1/organization/invitations', { email })).status).toBe(200)
    expect((await person.get('/v1/invitations')).body).toEqual([])
    const token = await mails.waitForVerification(person.email)
    expect((await person.post(confirm, { token })).body).toEqual({ verified: true })
  } finally {
    await trusting.close()
  }
})

test('GET /v1/user/export: omits invitations until the address is proven', async () => {
  const inviter = await registerProven(server)
  await invite(server, inviter, { email: client.email })
  expect((await client.get('/v1/user/export')).body.invitations).toEqual([])
  await client.post(confirm, { token: await mails.waitForVerification(client.email) })
  expect((await client.get('/v1/user/export')).body.invitations).toHaveLength(1)
})
