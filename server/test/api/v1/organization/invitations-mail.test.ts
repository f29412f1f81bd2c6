import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createClient } from '../../../support/client.ts'
import type { Client } from '../../../support/client.ts'
import { linkIn, startMailServer } from '../../../support/mail.ts'
import type { MailServer } from '../../../support/mail.ts'
import { invite, registerProven } from '../../../support/organizations.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const publicUrl = 'https://berth.example.com'
/** For busy machines */
const patience = 30_000

let mails: MailServer
let server: TestServer
beforeAll(async () => {
  mails = await startMailServer()
  server = await startTestServer({
    settings: { MAIL_URL: `${mails.url}?socketTimeout=1000`, PUBLIC_URL: publicUrl },
  })
  server.application.config.mail.patienceMilliseconds = patience
})
afterAll(async () => {
  await server.close()
  await mails.stop()
})

let owner: Client & { email: string }
let email: string
beforeEach(async () => {
  owner = await registerProven(server, { organization: 'Engines', name: 'Ada Lovelace' })
  email = `guest-of-${owner.email}`
})

/** The token of the link in the n-th email to an address. */
async function readToken(recipient: string, count = 1): Promise<string> {
  const link = linkIn(await mails.waitForMail(recipient, count))
  expect(link.origin).toBe(publicUrl)
  const [, token] = /^\/invitations\/([\w-]{43})$/.exec(link.pathname) ?? []
  return token!
}

async function waitForListed(expected: object) {
  const list = async () => (await owner.get('/v1/organization/invitations')).body[0]
  await expect.poll(list).toMatchObject(expected)
}

test('POST /v1/organization/invitations: the text and HTML email names inviter, invitee, organization, role and expiry', async () => {
  const { invitation } = await invite(server, owner, { email, role: 'admin' })
  const mail = await mails.waitForMail(email)
  expect(mail.recipients).toEqual([email])
  expect(mail.subject).toBe('Ada Lovelace invited you to Engines on Berth')
  const text = (mail.text ?? '').replaceAll(/\s+/g, ' ')
  expect(text).toContain(`Ada Lovelace invited you (${email}) to join Engines on Berth as an admin.`)
  const day = new Date(invitation.expires_at)
  expect(text).toContain(
    `${day.toLocaleString('en', { month: 'long', timeZone: 'UTC' })} ${day.getUTCDate()}`,
  )
  expect(mail.html).toContain(`href="${linkIn(mail).href}"`)
})

test('POST /v1/organization/invitations: the link opens a preview and registers an invitee without an account', async () => {
  await invite(server, owner, { email })
  const token = await readToken(email)
  const guest = createClient(server.url)
  const preview = await guest.get(`/v1/invitations/by-token/${token}`)
  expect(preview.body).toMatchObject({
    status: 'pending',
    account_exists: false,
    organization_name: 'Engines',
  })
  const answer = await guest.post('/v1/invitations/register', { token, password: 'correct horse battery' })
  expect(answer.body.user).toMatchObject({ email, organization: 'Engines' })
})

test('POST /v1/organization/invitations: an invitee with an account accepts by the link', async () => {
  const guest = await registerProven(server, { email })
  await invite(server, owner, { email: email.replace('guest', 'GUEST') })
  const token = await readToken(email.replace('guest', 'GUEST'))
  expect((await guest.post(`/v1/invitations/by-token/${token}/accept`)).status).toBe(200)
})

test('POST /v1/organization/invitations: email_status and email_sent_at show the delivery at once', async () => {
  const { invitation } = await invite(server, owner, { email })
  const email_sent_at = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  expect(invitation).toMatchObject({ email_status: 'sent', email_sent_at, email_last_error: null })
  await waitForListed({ email_status: 'sent', email_sent_at: invitation.email_sent_at })
  const resent = await owner.post(`/v1/organization/invitations/${invitation.id}/resend`)
  expect(resent.body.email_status).toBe('sent')
  expect(resent.body.email_sent_at > invitation.email_sent_at).toBe(true)
})

test('POST /v1/organization/invitations: does not wait forever for a mail server', async () => {
  const { config } = server.application
  config.mail.patienceMilliseconds = 100
  mails.faults.push({ to: email, at: 'DATA', silent: true })
  const { invitation } = await invite(server, owner, { email })
  config.mail.patienceMilliseconds = patience
  expect(invitation).toMatchObject({ email_status: 'pending', email_sent_at: null, email_last_error: null })
})

test('GET /v1/organization/invitations: a rejected address shows failed with the reason; a resend starts over', async () => {
  mails.faults.push({ to: email, at: 'RCPT', code: 550, text: 'no such user here' })
  const { invitation } = await invite(server, owner, { email })
  const email_last_error = expect.stringContaining('550')
  await waitForListed({ status: 'pending', email_status: 'failed', email_sent_at: null, email_last_error })
  const resent = await owner.post(`/v1/organization/invitations/${invitation.id}/resend`)
  expect(resent.body).toMatchObject({ email_status: 'sent', email_last_error: null })
  expect(mails.received.filter(({ recipients }) => recipients.includes(email))).toHaveLength(1)
})

test('POST …/resend: sends another email with a new link; the first link is invalid', async () => {
  const { invitation } = await invite(server, owner, { email })
  const first = await readToken(email)
  await owner.post(`/v1/organization/invitations/${invitation.id}/resend`)
  const second = await readToken(email, 2)
  expect(second).not.toBe(first)
  const guest = createClient(server.url)
  expect((await guest.get(`/v1/invitations/by-token/${first}`)).status).toBe(410)
  expect((await guest.get(`/v1/invitations/by-token/${second}`)).status).toBe(200)
})

test('invitation emails: names with markup, headers or links stay plain text', async () => {
  const name = 'Eve <b>"bold"</b> & co\r\nBcc: everybody@example.com'
  const organization = '<script>alert(1)</script><a href="https://evil.example">Bank</a>'
  const eve = await registerProven(server, { name, organization })
  await invite(server, eve, { email })
  const mail = await mails.waitForMail(email)
  expect(mail.recipients).toEqual([email])
  expect(mail.bcc).toBeUndefined()
  expect(mail.subject).toContain('Eve <b>"bold"< b> & co Bcc everybody example com invited you to')
  expect(mail.text).not.toContain('evil.example')
  expect(mail.html).not.toContain('<script')
  expect(mail.html).not.toContain('<b>')
  expect(mail.html).not.toContain('href="https://evil.example"')
  expect(linkIn(mail).origin).toBe(publicUrl)
})

test('invitation emails: a waiting email is not sent once the invitation is answered, as email_status shows', async () => {
  const guest = await registerProven(server, { email })
  mails.faults.push({ to: email, at: 'RCPT', code: 451, text: 'come back later' })
  const { invitation } = await invite(server, owner, { email })
  await waitForListed({ email_status: 'pending', email_last_error: expect.stringContaining('451') })
  expect((await guest.post(`/v1/invitations/${invitation.id}/reject`)).status).toBe(200)
  await waitForListed({ status: 'rejected', email_status: 'failed', email_sent_at: null })
  expect(mails.received.filter(({ recipients }) => recipients.includes(email))).toEqual([])
})

test('invitation emails: a waiting email is not sent once a resend replaces it', async () => {
  mails.faults.push({ to: email, at: 'RCPT', code: 451, text: 'come back later' })
  const { invitation } = await invite(server, owner, { email })
  await waitForListed({ email_status: 'pending', email_last_error: expect.stringContaining('451') })
  await owner.post(`/v1/organization/invitations/${invitation.id}/resend`)
  await waitForListed({ email_status: 'sent' })
  const readStatuses = async () => {
    const rows = await server.application.db
      .selectFrom('mails')
      .select('status')
      .where('recipient', '=', email)
      .orderBy('id')
      .execute()
    return rows.map(({ status }) => status)
  }
  await expect.poll(readStatuses).toEqual(['superseded', 'sent'])
  expect(mails.received.filter(({ recipients }) => recipients.includes(email))).toHaveLength(1)
})

test('invitations: neither tables nor logs contain a token', async () => {
  await invite(server, owner, { email })
  const token = await readToken(email)
  const guest = createClient(server.url)
  await guest.get(`/v1/invitations/by-token/${token}`)
  await owner.post(`/v1/invitations/by-token/${token}/accept`)
  await owner.post(`/v1/invitations/by-token/${token}/reject`)
  await guest.post(`/v1/invitations/by-token/${token}/unknown`)
  await guest.post('/v1/invitations/register', { token, password: 'short' })
  await guest.post('/v1/invitations/register', { token, password: 'correct horse battery' })
  await waitForListed({ status: 'accepted', email_status: 'sent' })
  const { db } = server.application
  for (const table of ['invitations', 'mails', 'users', 'sessions'] as const) {
    expect(JSON.stringify(await db.selectFrom(table).selectAll().execute())).not.toContain(token)
  }
  const lines = server.logs.filter((line) => line.includes('/v1/invitations/by-token/:token'))
  expect(lines.length).toBeGreaterThanOrEqual(3)
  expect(server.logs.filter((line) => line.includes(token))).toEqual([])
})
