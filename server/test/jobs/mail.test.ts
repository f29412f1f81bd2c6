import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { queueMail } from '../../src/features/mail/queue-mail.ts'
import { sendMail } from '../../src/features/mail/send-mail.ts'
import type { MailComposers } from '../../src/features/mail/send-mail.ts'
import { leaseMail } from '../../src/features/mail/store.ts'
import { sweepMails } from '../../src/features/mail/sweep-mails.ts'
import { registerClient } from '../support/client.ts'
import { startMailServer } from '../support/mail.ts'
import type { MailServer } from '../support/mail.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const day = 24 * 3_600_000

let now = 0
let mails: MailServer
let server: TestServer
beforeAll(async () => {
  mails = await startMailServer()
  server = await startTestServer({
    settings: { MAIL_URL: `${mails.url}?socketTimeout=1000`, PUBLIC_URL: 'https://berth.example.com' },
    clock: () => new Date(Date.now() + now),
  })
})
afterAll(async () => {
  await server.close()
  await mails.stop()
})

let email: string
let userId: number
beforeEach(async () => {
  ;({ email } = await registerClient(server.url))
  await mails.waitForVerification(email)
  const { db } = server.application
  ;({ id: userId } = await db
    .selectFrom('users')
    .select('id')
    .where('email', '=', email)
    .executeTakeFirstOrThrow())
})
afterEach(() => {
  mails.faults.length = 0
})

function queue(): Promise<number> {
  const { application } = server
  const mail = { kind: 'password_changed', subjectId: userId, recipient: email } as const
  return application.db.transaction().execute((transaction) => queueMail(application, transaction, mail))
}

function readMail(id: number) {
  return server.application.db.selectFrom('mails').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
}

async function waitForRow(id: number, expected: object) {
  await expect.poll(() => readMail(id)).toMatchObject(expected)
  return readMail(id)
}

/** Makes an email overdue and runs the sweep. */
async function runOverdueSweep(id: number): Promise<void> {
  const { application } = server
  const attempt_at = new Date(Date.now() - 60_000)
  await application.db.updateTable('mails').set({ attempt_at }).where('id', '=', id).execute()
  await sweepMails(application)
}

function deliveries() {
  return mails.received.filter(({ recipients }) => recipients.includes(email))
}

test('an email is sent once, after its transaction commits, in text and HTML', async () => {
  const { application } = server
  let release = () => {}
  const blocked = new Promise<void>((resolve) => (release = resolve))
  const mail = { kind: 'password_changed', subjectId: userId, recipient: email } as const
  const queued = application.db.transaction().execute(async (transaction) => {
    const id = await queueMail(application, transaction, mail)
    await blocked
    return id
  })
  const later = await queue()
  await waitForRow(later, { status: 'sent' })
  expect(deliveries()).toHaveLength(1)
  release()
  const row = await waitForRow(await queued, { status: 'sent', attempts: 1, last_error: null })
  expect(row.sent_at).toBeInstanceOf(Date)
  expect(deliveries()).toHaveLength(2)
  const sent = deliveries().find(({ messageId }) => messageId === row.message_id)!
  expect(row.message_id).toMatch(/^<[0-9a-f-]{36}@berth\.example\.com>$/)
  expect(sent.recipients).toEqual([email])
  expect(sent.from?.value).toEqual([{ name: 'Berth', address: 'berth@berth.example.com' }])
  expect(sent.to).toMatchObject({ value: [{ address: email, name: '' }] })
  expect(sent.headers.get('auto-submitted')).toBe('auto-generated')
  expect(sent.text).toContain(email)
  expect(sent.html).toContain(email)
})

test('an email whose transaction is rolled back is not sent', async () => {
  const { application } = server
  const mail = { kind: 'password_changed', subjectId: userId, recipient: email } as const
  const rolledBack = application.db.transaction().execute(async (transaction) => {
    await queueMail(application, transaction, mail)
    throw new Error('rolled back')
  })
  await expect(rolledBack).rejects.toThrow('rolled back')
  await waitForRow(await queue(), { status: 'sent' })
  expect(deliveries()).toHaveLength(1)
})

test.each(['RCPT', 'DATA'] as const)('a 451 at %s is retried, and the email arrives once', async (at) => {
  mails.faults.push({ to: email, at, code: 451, text: 'Greylisted, come back later' })
  const id = await queue()
  const waiting = await waitForRow(id, { status: 'pending', attempts: 1, last_error: expect.any(String) })
  expect(waiting.last_error).toContain('Greylisted, come back later')
  expect(waiting.sent_at).toBeNull()
  await waitForRow(id, { status: 'sent', attempts: 2, last_error: null, sent_at: expect.any(Date) })
  expect(deliveries()).toHaveLength(1)
})

test.each([
  ['RCPT', 550, 'No such user here'],
  ['DATA', 554, 'This looks like spam'],
] as const)('a %s %i fails the email immediately, with the reason', async (at, code, text) => {
  mails.faults.push({ to: email, at, code, text })
  const row = await waitForRow(await queue(), { status: 'failed' })
  expect(row).toMatchObject({ attempts: 1, sent_at: null, last_error: expect.stringContaining(text) })
  expect(row.last_error).toContain(String(code))
  expect(deliveries()).toHaveLength(0)
})

test('if the connection breaks after DATA, the email arrives again with the same Message-ID', async () => {
  mails.faults.push({ to: email, at: 'DATA', cut: true })
  const row = await waitForRow(await queue(), { status: 'sent' })
  expect(row.attempts).toBe(2)
  expect(deliveries().map(({ messageId }) => messageId)).toEqual([row.message_id, row.message_id])
})

test('a mail server that never replies times out, and the email is retried', async () => {
  mails.faults.push({ to: email, at: 'DATA', silent: true })
  const id = await queue()
  const waiting = await waitForRow(id, { status: 'pending', attempts: 1, last_error: expect.any(String) })
  expect(waiting.last_error).toContain('ETIMEDOUT')
  await waitForRow(id, { status: 'sent', attempts: 2 })
})

test('if the mail server is down, the email is sent when it is back, and the error hides our addresses', async () => {
  await mails.stop()
  const id = await queue()
  const waiting = await waitForRow(id, { status: 'pending', last_error: expect.any(String) })
  expect(waiting.last_error).toMatch(/ECONNREFUSED|ECONNECTION/)
  expect(waiting.last_error).not.toContain('127.0.0.1')
  await mails.start()
  await runOverdueSweep(id)
  await waitForRow(id, { status: 'sent', last_error: null })
  expect(deliveries()).toHaveLength(1)
})

test('an email fails after 3 days, with the latest reason', async () => {
  mails.faults.push(
    { to: email, at: 'RCPT', code: 451, text: 'first' },
    { to: email, at: 'RCPT', code: 451, text: 'last' },
  )
  const id = await queue()
  await waitForRow(id, { attempts: 1, last_error: expect.stringContaining('first') })
  now = 3 * day
  await waitForRow(id, { status: 'failed', attempts: 2, last_error: expect.stringContaining('last') })
  now = 0
  expect(deliveries()).toHaveLength(0)
})

test('an email leased by a dead worker is sent by another after the lease ends', async () => {
  const { application } = server
  const { id } = await application.db
    .insertInto('mails')
    .values({
      kind: 'password_changed',
      subject_id: userId,
      recipient: email,
      message_id: `<${email}>`,
      created_at: new Date(),
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  expect(await leaseMail(application.db, id, 60)).toMatchObject({ attempts: 1 })
  await sweepMails(application)
  await waitForRow(await queue(), { status: 'sent' })
  expect(await readMail(id)).toMatchObject({ status: 'pending', attempts: 1 })
  await runOverdueSweep(id)
  await waitForRow(id, { status: 'sent', attempts: 2 })
  expect(deliveries()).toHaveLength(2)
})

test('20 concurrent attempts send an email once', async () => {
  const { application } = server
  const id = await queue()
  const compose = async () => ({ subject: 'Once', text: 'Once', html: '<p>Once</p>' })
  const composers = new Proxy({} as MailComposers, { get: () => compose })
  await Promise.all(Array.from({ length: 20 }, () => sendMail(application, id, composers)))
  await waitForRow(id, { status: 'sent', attempts: 1 })
  expect(deliveries()).toHaveLength(1)
})

test('an email that is no longer needed is superseded', async () => {
  const { application } = server
  const mail = { kind: 'password_reset', subjectId: 999_999, recipient: email } as const
  const id = await application.db
    .transaction()
    .execute((transaction) => queueMail(application, transaction, mail))
  await waitForRow(id, { status: 'superseded', sent_at: null, last_error: null })
  expect(deliveries()).toHaveLength(0)
})

test('100 concurrent emails all arrive once', async () => {
  const ids = await Promise.all(Array.from({ length: 100 }, queue))
  for (const id of ids) await waitForRow(id, { status: 'sent', attempts: 1 })
  expect(new Set(deliveries().map(({ messageId }) => messageId)).size).toBe(100)
  expect(deliveries()).toHaveLength(100)
})
