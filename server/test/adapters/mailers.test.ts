import { mkdtemp, readFile, readdir, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { simpleParser } from 'mailparser'
import type { SMTPServerOptions } from 'smtp-server'
import { expect, onTestFinished, test } from 'vitest'
import { createFileMailer } from '../../src/adapters/mailer/file.ts'
import { createSmtpMailer } from '../../src/adapters/mailer/smtp.ts'
import { listen } from '../support/listen.ts'
import { startMailServer } from '../support/mail.ts'

const from = { name: 'Berth', address: 'berth@example.com' }
const link = `http://localhost:8080/reset-password?token=${'Zm9v_YmFy-'.repeat(5).slice(0, 43)}`
const mail = {
  to: 'ada@example.com',
  subject: 'Grüße aus 東京',
  text: `Grüße,\n\n${link}\n\nBerth\n`,
  html: `<p>Grüße</p><a href="${link}">Open</a>`,
  messageId: '<0196-abc@example.com>',
}

async function openMailServer(options?: SMTPServerOptions) {
  const server = await startMailServer(options)
  onTestFinished(() => server.stop())
  return server
}

function openSmtpMailer(url: string) {
  const mailer = createSmtpMailer({ url, from })
  onTestFinished(() => mailer.close())
  return mailer
}

/** Accepts the user `berth` with the password `open sesame` without TLS. */
const withSignIn: SMTPServerOptions = {
  disabledCommands: ['STARTTLS'],
  allowInsecureAuth: true,
  authOptional: false,
  onAuth({ username, password }, _session, done) {
    if (username === 'berth' && password === 'open sesame') done(null, { user: username })
    else done(Object.assign(new Error(`not ${password}`), { responseCode: 535 }))
  },
}

function withAccount(url: string, account: string): string {
  return url.replace('smtp://', `smtp://${account}@`)
}

test('SMTP: text, HTML, subject and link arrive unchanged', async () => {
  const server = await openMailServer()
  expect(await openSmtpMailer(server.url).send(mail)).toEqual({ outcome: 'sent' })
  const [received] = server.received
  expect(received).toMatchObject({
    recipients: [mail.to],
    subject: mail.subject,
    text: mail.text,
    html: mail.html,
    messageId: mail.messageId,
  })
})

test('SMTP: authenticates with the user and password of MAIL_URL, decoding percent escapes', async () => {
  const server = await openMailServer(withSignIn)
  const mailer = openSmtpMailer(withAccount(server.url, 'berth:open%20sesame'))
  expect(await mailer.send(mail)).toEqual({ outcome: 'sent' })
})

test('SMTP: a wrong password defers the email and does not appear in the reason', async () => {
  const server = await openMailServer(withSignIn)
  const delivery = await openSmtpMailer(withAccount(server.url, 'berth:open')).send(mail)
  const reason = 'The mail server rejected Berth’s credentials (535). Check MAIL_URL.'
  expect(delivery).toEqual({ outcome: 'deferred', reason })
})

test('SMTP: a server that requires a password when none is set defers the email', async () => {
  const server = await openMailServer(withSignIn)
  const delivery = await openSmtpMailer(server.url).send(mail)
  expect(delivery).toMatchObject({ outcome: 'deferred', reason: expect.stringContaining('530') })
})

test('SMTP: uses STARTTLS if offered and refuses an untrusted certificate', async () => {
  const server = await openMailServer({ disabledCommands: ['AUTH'] })
  const delivery = await openSmtpMailer(server.url).send(mail)
  expect(delivery).toMatchObject({ outcome: 'deferred', reason: expect.stringMatching(/CERT|TLS/) })
  expect(server.received).toHaveLength(0)
  const trusting = openSmtpMailer(`${server.url}?tls.rejectUnauthorized=false`)
  expect(await trusting.send(mail)).toEqual({ outcome: 'sent' })
})

test('SMTP: smtps:// uses TLS from the first byte', async () => {
  const server = await openMailServer({ secure: true, disabledCommands: ['AUTH'] })
  const url = `${server.url.replace('smtp://', 'smtps://')}?tls.rejectUnauthorized=false`
  expect(await openSmtpMailer(url).send(mail)).toEqual({ outcome: 'sent' })
})

test.each(['ada,eve@example.com', 'ada;eve@example.com', 'ada"eve@example.com', 'ada(eve@example.com'])(
  'SMTP: %s is never split into several addresses',
  async (to) => {
    const server = await openMailServer()
    expect(await openSmtpMailer(server.url).send({ ...mail, to })).toEqual({ outcome: 'sent' })
    const quoted = to.replace('"', '\\"').replace('@', '"@')
    expect(server.received.map(({ recipients }) => recipients)).toEqual([[`"${quoted}`]])
  },
)

test('SMTP: a server that sends its greeting too slowly times out', async () => {
  const dripping = createServer((socket) => {
    const drip = setInterval(() => socket.write('2'), 20)
    socket.on('error', () => {}).on('close', () => clearInterval(drip))
  })
  const port = await listen(dripping)
  onTestFinished(() => void dripping.close())
  const mailer = createSmtpMailer({ url: `smtp://127.0.0.1:${port}`, from, attemptMilliseconds: 200 })
  onTestFinished(() => mailer.close())
  expect(await mailer.send(mail)).toMatchObject({
    outcome: 'deferred',
    reason: expect.stringContaining('EABORT'),
  })
})

test('files: an .eml file that only its owner can read, with an unbroken link; the log names only the file', async () => {
  const parent = await mkdtemp(join(tmpdir(), 'berth-mail-'))
  onTestFinished(() => rm(parent, { recursive: true }))
  const directory = join(parent, 'mail')
  const logged: unknown[][] = []
  const log = { info: (...line: unknown[]) => void logged.push(line) }
  const mailer = createFileMailer({ directory, from, log })
  expect(await mailer.send(mail)).toEqual({ outcome: 'sent' })
  await mailer.close()

  const [name = '', ...others] = await readdir(directory)
  expect(others).toEqual([])
  expect(name).toMatch(/^\d{4}-\d\d-\d\dT[\d-]+\.\d{3}Z-0196-abc\.eml$/)
  const file = join(directory, name)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect((await stat(directory)).mode & 0o777).toBe(0o700)
  const content = await readFile(file, 'utf8')
  expect(content.split('\r\n')).toContain(link)
  const parsed = await simpleParser(content)
  expect(parsed).toMatchObject({
    subject: mail.subject,
    text: mail.text,
    html: mail.html,
    messageId: mail.messageId,
    from: { value: [from] },
    to: { value: [{ address: mail.to, name: '' }] },
  })
  expect(JSON.stringify(logged)).toContain(name)
  expect(JSON.stringify(logged)).not.toContain('token')
})
