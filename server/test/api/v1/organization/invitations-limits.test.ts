import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestClock, day } from '../../../support/clock.ts'
import { startMailServer } from '../../../support/mail.ts'
import type { MailServer } from '../../../support/mail.ts'
import { joinClient, registerProven } from '../../../support/organizations.ts'
import type { Account } from '../../../support/organizations.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const clock = createTestClock()

let mails: MailServer
let server: TestServer
beforeAll(async () => {
  mails = await startMailServer()
  server = await startTestServer({
    settings: { MAIL_URL: mails.url, TRUST_PROXY: 'loopback' },
    clock: clock.now,
    worker: false,
  })
})
afterAll(async () => {
  await server.close()
  await mails.stop()
})

let count = 0

async function invite(client: Account, address: string, email = `guest-${(count += 1)}@example.com`) {
  const headers = { 'x-forwarded-for': address }
  return client.request('POST', '/v1/organization/invitations', { email }, headers)
}

async function inviteMany(client: Account, times: number, address: string): Promise<void> {
  for (let sent = 0; sent < times; sent += 1) expect((await invite(client, address)).status).toBe(200)
}

test('POST /v1/organization/invitations: 100 a day by one user, then 429; tomorrow again', async () => {
  const owner = await registerProven(server)
  const admin = await joinClient(server, owner, 'admin')
  await inviteMany(owner, 99, '192.0.2.1')
  const refused = await invite(owner, '192.0.2.2')
  expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited'])
  expect(refused.body.detail).toContain('You sent too many invitations')
  const invitations = (await owner.get('/v1/organization/invitations')).body
  const { id } = invitations.find(({ status }: { status: string }) => status === 'pending')
  expect((await owner.post(`/v1/organization/invitations/${id}/resend`)).status).toBe(429)
  expect((await invite(admin, '192.0.2.2')).status).toBe(200)
  clock.advance(day)
  expect((await invite(owner, '192.0.2.1')).status).toBe(200)
})

test('POST /v1/organization/invitations: 10 a day to one recipient, by all organizations together', async () => {
  const email = 'recipient@example.com'
  for (let sent = 0; sent < 10; sent += 1) {
    expect((await invite(await registerProven(server), '192.0.2.3', email)).status).toBe(200)
  }
  const refused = await invite(await registerProven(server), '192.0.2.4', email.toUpperCase())
  expect([refused.status, refused.body.detail]).toEqual([
    429,
    expect.stringContaining('This person received'),
  ])
})

test('POST /v1/organization/invitations: 300 a day from one network', async () => {
  for (let user = 0; user < 3; user += 1) await inviteMany(await registerProven(server), 100, '192.0.2.5')
  const owner = await registerProven(server)
  const refused = await invite(owner, '192.0.2.5')
  expect([refused.status, refused.body.detail]).toEqual([429, expect.stringContaining('your network')])
  expect((await invite(owner, '192.0.2.6')).status).toBe(200)
})
