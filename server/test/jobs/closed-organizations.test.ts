import { afterAll, beforeAll, expect, test } from 'vitest'
import { serverActor } from '../../src/base/viewer.ts'
import { cancelClosedSubscriptions } from '../../src/features/billing/processor/cancel-closed-subscriptions.ts'
import { publishSandboxPrices } from '../../src/features/billing/processor/publish-prices.ts'
import { reportUsage } from '../../src/features/billing/reports/report-usage.ts'
import { addHours, floorHour } from '../../src/features/metering/hours.ts'
import { closeOrganizationForGood } from '../../src/features/operators/close-organization.ts'
import type { PaymentProcessor } from '../../src/ports/payment-processor.ts'
import { activate } from '../support/billing.ts'
import { registerClient } from '../support/client.ts'
import { createTestClock, day, hour } from '../support/clock.ts'
import { insertInstanceSpan } from '../support/instance-spans.ts'
import { listSandboxObjects } from '../support/sandbox.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'
import { settleTrusted } from '../support/settle.ts'

const clock = createTestClock()
let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ worker: false, clock: clock.now })
  await publishSandboxPrices(server.application)
})
afterAll(() => server.close())

/** What the workers do in ten minutes. */
async function work(changes: Partial<PaymentProcessor> = {}): Promise<void> {
  const { application } = server
  await settleTrusted(application)
  await reportUsage(application)
  const payments = { ...application.payments, ...changes }
  await cancelClosedSubscriptions({ ...application, payments })
  await application.paymentSandbox!.tick(() => Promise.resolve())
}

async function readAccount(id: number) {
  return server.application.db
    .selectFrom('billing_accounts')
    .select(['status', 'subscription_status', 'processor_customer_id'])
    .where('organization_id', '=', id)
    .executeTakeFirstOrThrow()
}

test('closing an organization charges its last usage and cancels its subscription, also after a crash', async () => {
  const { db } = server.application
  const client = await registerClient(server.url)
  await activate(server.url, client)
  const { body: account } = await client.get('/v1/billing/account')
  const id = account.organization_id
  const hours = addHours(floorHour(clock.now()), 1)
  const deploymentId = await insertInstanceSpan(db, client, id, { from: hours, to: addHours(hours, 100) })
  clock.advance(101 * hour)
  await closeOrganizationForGood(server.application, serverActor, id)
  await work()
  // The deployment is still ending.
  expect(await readAccount(id)).toMatchObject({ status: 'closed', subscription_status: 'active' })
  await db
    .updateTable('deployments')
    .set({ status: 'terminated', status_changed_at: clock.now(), terminated_at: clock.now() })
    .where('id', '=', deploymentId)
    .execute()
  await db
    .updateTable('instances')
    .set({ status: 'released' })
    .where('deployment_id', '=', deploymentId)
    .execute()
  for (let hours = 0; hours < 2; hours++) {
    clock.advance(hour)
    await work({ findSubscription: () => Promise.reject(new Error('the process crashed')) })
  }
  // Hours of more than a day ago are compared with the processor first.
  for (let hours = 0; hours < 30; hours++) {
    clock.advance(hour)
    await work()
  }
  const closed = await readAccount(id)
  expect(closed).toMatchObject({ status: 'closed', subscription_status: 'canceled' })
  clock.advance(2 * hour)
  await work()
  const customer = closed.processor_customer_id!
  const listInvoices = async () =>
    (await listSandboxObjects(server.application, 'invoice', customer)).filter(({ total }) => total > 0)
  // 360,000 seconds at 0.001 cents.
  expect(await listInvoices()).toMatchObject([{ status: 'paid', total: 360 }])
  for (let months = 0; months < 3; months++) {
    clock.advance(31 * day)
    await work()
  }
  expect(await listInvoices()).toHaveLength(1)
  expect((await listSandboxObjects(server.application, 'subscription', customer))[0]).toMatchObject({
    status: 'canceled',
  })
})
