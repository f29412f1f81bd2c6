import { rm } from 'node:fs/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient, registerClient } from '../support/client.ts'
import { createTestDatabase } from '../support/database.ts'
import { linkIn, startMailServer } from '../support/mail.ts'
import type { MailServer } from '../support/mail.ts'
import { createDataDirectory, spawnServer } from '../support/process.ts'

let mails: MailServer
let database: Awaited<ReturnType<typeof createTestDatabase>>
let dataDirectory: string
beforeAll(async () => {
  mails = await startMailServer()
  database = await createTestDatabase('migrated')
  dataDirectory = await createDataDirectory()
})
afterAll(async () => {
  await mails.stop()
  await database.drop()
  await rm(dataDirectory, { recursive: true, force: true })
})

function startServer() {
  return spawnServer({ DATABASE_URL: database.url, DATA_DIR: dataDirectory, MAIL_URL: mails.url })
}

/** Ends the lease of the killed process. */
async function endLeases(): Promise<void> {
  const connection = new pg.Client({ connectionString: database.url })
  await connection.connect()
  await connection.query(`UPDATE mails SET attempt_at = now() - interval '1 minute' WHERE status = 'pending'`)
  await connection.end()
}

test('a server killed during delivery sends the same email again after a restart', async () => {
  const first = startServer()
  const url = await first.listening
  const { email } = await registerClient(url)
  await mails.waitForVerification(email)
  mails.faults.push({ to: email, at: 'DATA', silent: true })
  await createClient(url).post('/v1/auth/password-reset/request', { email })
  const unconfirmed = await mails.waitForMail(email)
  first.child.kill('SIGKILL')
  expect(await first.exited).toBe('SIGKILL')

  await endLeases()
  const second = startServer()
  try {
    const again = await mails.waitForMail(email, 2)
    expect(again.messageId).toBe(unconfirmed.messageId)
    expect(linkIn(again).href).toBe(linkIn(unconfirmed).href)
    const body = { token: linkIn(again).searchParams.get('token'), password: 'a better battery' }
    const answer = await createClient(await second.listening).post('/v1/auth/password-reset/confirm', body)
    expect(answer).toMatchObject({ status: 200, body: { reset: true } })
    await mails.waitForMail(email, 3)
    expect(second.output()).not.toContain(body.token)
  } finally {
    second.child.kill('SIGTERM')
    expect(await second.exited).toBe(0)
  }
})
