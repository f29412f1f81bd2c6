import { afterAll, beforeAll, expect, test } from 'vitest'
import { endTrials } from '../../src/features/deployments/changes/end-trials.ts'
import { activate } from '../support/billing.ts'
import { registerClient } from '../support/client.ts'
import { createTestClock, hour } from '../support/clock.ts'
import { deploy, waitForStatus } from '../support/deployments.ts'
import { startMailServer } from '../support/mail.ts'
import type { MailServer, ReceivedMail } from '../support/mail.ts'
import { joinClient, registerProven } from '../support/organizations.ts'
import type { Account } from '../support/organizations.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const clock = createTestClock()
const runtime = createScriptedRuntime('http://127.0.0.1:9', clock.now)

let mails: MailServer
let server: TestServer
beforeAll(async () => {
  mails = await startMailServer()
  server = await startTestServer({
    // The local instance costs $0.036 an hour.
    settings: { MAIL_URL: mails.url, BILLING_TRIAL_CREDIT: '0.05', BILLING_TRIAL_GRACE: '2h' },
    clock: clock.now,
    runtime,
  })
})
afterAll(async () => {
  await server.close()
  await mails.stop()
})

/**
 * The emails about a used-up credit that an account got. An invited account may also have its invitation, or
 * not.
 */
function trialMails({ email }: Account): ReceivedMail[] {
  return mails.received.filter(
    ({ recipients, subject }) => recipients.includes(email) && subject?.includes('trial credit'),
  )
}

test('a trial that used up its credit: its admins get one email, and its deployments end after the grace period', async () => {
  const owner = await registerProven(server)
  const admin = await joinClient(server, owner, 'admin')
  const member = await joinClient(server, owner, 'member')
  const { id } = await deploy(member)
  await endTrials(server.application)
  expect([owner, admin, member].flatMap(trialMails)).toEqual([])
  clock.advance(2 * hour)
  await endTrials(server.application)
  await endTrials(server.application)
  for (const account of [owner, admin]) {
    await expect.poll(() => trialMails(account)).toHaveLength(1)
    expect(trialMails(account)[0]?.text).toContain('To keep them, activate billing')
  }
  expect((await member.get(`/api/v1/model-deployments/${id}`)).body.status).toBe('running')
  const refused = await member.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })
  expect([refused.status, refused.body.code]).toEqual([409, 'trial_credit_exhausted'])
  clock.advance(2 * hour)
  await endTrials(server.application)
  await waitForStatus(member, id, 'terminated')
  const { items } = (await member.get(`/api/v1/model-deployments/${id}/events`)).body
  expect(items.map(({ message }: { message: string }) => message)).toContain(
    'The trial’s credit is used up. Activate billing, then deploy again.',
  )
  expect([owner, admin, member].map((account) => trialMails(account).length)).toEqual([1, 1, 0])
})

test('an organization that activates billing in time keeps its deployments', async () => {
  const owner = await registerProven(server)
  const { id } = await deploy(owner)
  clock.advance(2 * hour)
  await endTrials(server.application)
  await mails.waitForMail(owner.email)
  expect((await activate(server.url, owner)).status).toBe(200)
  clock.advance(3 * hour)
  await endTrials(server.application)
  expect((await owner.get(`/api/v1/model-deployments/${id}`)).body.status).toBe('running')
})

test('a trial with credit left keeps its deployments', async () => {
  const owner = await registerClient(server.url)
  expect((await owner.get('/v1/billing/account')).status).toBe(200)
  await endTrials(server.application)
  const { db } = server.application
  const rows = await db
    .selectFrom('mails')
    .select('id')
    .where('recipient', '=', owner.email)
    .where('kind', '=', 'trial_exhausted')
    .execute()
  expect(rows).toEqual([])
})
