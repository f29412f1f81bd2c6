import { afterAll, beforeAll, expect, test } from 'vitest'
import { publishSandboxPrices } from '../../src/features/billing/processor/publish-prices.ts'
import { reportUsage } from '../../src/features/billing/reports/report-usage.ts'
import { usageReportChecks } from '../../src/features/billing/reports/usage-report-checks.ts'
import { runUsageChecks } from '../../src/features/metering/anomalies.ts'
import { addHours, floorHour } from '../../src/features/metering/hours.ts'
import { paymentSandboxJobs } from '../../src/wiring/payment-sandbox-jobs.ts'
import { registerPostpaid } from '../support/billing.ts'
import { createTestClock, day, hour } from '../support/clock.ts'
import { listSandboxObjects } from '../support/sandbox.ts'
import { writeSealedSeconds } from '../support/sealed-usage.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const clock = createTestClock()
const minute = hour / 60
let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ worker: false, clock: clock.now })
  await publishSandboxPrices(server.application)
})
afterAll(() => server.close())

async function createPostpaid() {
  const { client, account } = await registerPostpaid(server.url)
  const { body } = await client.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })
  return {
    client,
    organizationId: account.organization_id as number,
    customerId: account.processor_customer_id as string,
    deploymentId: body.id as string,
    since: floorHour(new Date(account.current_period_start)),
    periodEnd: new Date(account.current_period_end),
  }
}
type Organization = Awaited<ReturnType<typeof createPostpaid>>

/** Seals an hour of usage now. */
function seal({ organizationId, deploymentId }: Organization, at: Date): Promise<void> {
  return writeSealedSeconds(server.application.db, {
    organizationId,
    deploymentId,
    hour: at,
    quantity: '3600',
    sealedAt: clock.now(),
  })
}

const advanceTo = (time: Date) => clock.advance(time.getTime() - clock.now().getTime())

async function advanceSandbox(): Promise<void> {
  const job = paymentSandboxJobs(server.application).find(({ name }) => name === 'advance-sandbox')!
  await job.run(null as never)
}

/** Runs the billing jobs for some time, as a worker does. */
async function runWorker(duration: number): Promise<void> {
  for (let elapsed = 0; elapsed < duration; elapsed += 10 * minute) {
    await advanceSandbox()
    await reportUsage(server.application)
    clock.advance(10 * minute)
  }
}

/** The seconds on each invoice of a period, oldest first. A draft has none. */
async function listInvoicedSeconds({ customerId }: Organization): Promise<number[]> {
  const invoices = await listSandboxObjects(server.application, 'invoice', customerId)
  return invoices
    .filter(({ billing_reason: reason }) => reason === 'subscription_cycle')
    .toSorted((one, other) => one.period_end - other.period_end)
    .map(({ lines }) => Number(lines.data[0]?.quantity_decimal ?? 0))
}

test('a worker that is down across the end of a month: late usage is on the next invoice, and no anomaly remains', async () => {
  const organization = await createPostpaid()
  const { client, since, periodEnd } = organization
  advanceTo(addHours(since, 2))
  await seal(organization, since)
  await runWorker(hour)

  advanceTo(new Date(periodEnd.getTime() + 9 * day))
  const late = [addHours(since, 5), floorHour(addHours(periodEnd, -2)), floorHour(addHours(periodEnd, 48))]
  // The report of a recent hour delays the comparison of the others, because the processor's totals lag
  // behind.
  const recent = floorHour(addHours(clock.now(), -3))
  for (const at of [...late, recent]) await seal(organization, at)
  await advanceSandbox()
  await reportUsage(server.application)
  await runUsageChecks(server.application, usageReportChecks(server.application))
  // The session has expired during the outage.
  await client.post('/v1/user/signin', { email: client.email, password: client.password })
  const { body: anomalies } = await client.get('/v1/billing/anomalies')
  // One for all hours of a price.
  expect(anomalies).toMatchObject([
    {
      message: expect.stringMatching(
        /^3 reports of 10800 units of \S+ in the hours from .+ to .+ not sent yet: .*no worker ran/,
      ),
    },
  ])
  await runWorker(2 * hour)
  await runUsageChecks(server.application, usageReportChecks(server.application))
  expect((await client.get('/v1/billing/usage-summary')).body.open_anomalies).toBe(0)

  const { body: account } = await client.get('/v1/billing/account')
  advanceTo(new Date(account.current_period_end))
  await runWorker(2 * hour)
  expect(await listInvoicedSeconds(organization)).toEqual([3600, 4 * 3600])
})
