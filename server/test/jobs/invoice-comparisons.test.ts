import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Invoice } from '../../../payment-sandbox/src/object-types.ts'
import { serverActor } from '../../src/base/viewer.ts'
import { cancelClosedSubscriptions } from '../../src/features/billing/processor/cancel-closed-subscriptions.ts'
import { compareInvoices } from '../../src/features/billing/reports/compare-invoices.ts'
import { publishSandboxPrices } from '../../src/features/billing/processor/publish-prices.ts'
import { reportUsage } from '../../src/features/billing/reports/report-usage.ts'
import { getAccountOf } from '../../src/features/billing/account/store.ts'
import { syncAccount } from '../../src/features/billing/processor/sync-account.ts'
import { usageReportChecks } from '../../src/features/billing/reports/usage-report-checks.ts'
import { listOpenAnomalies, runUsageChecks } from '../../src/features/metering/anomalies.ts'
import { addHours, floorHour } from '../../src/features/metering/hours.ts'
import { closeOrganizationForGood } from '../../src/features/operators/close-organization.ts'
import type { PaymentProcessor } from '../../src/ports/payment-processor.ts'
import { registerPostpaid } from '../support/billing.ts'
import { createTestClock, day, hour } from '../support/clock.ts'
import { insertInstanceSpan } from '../support/instance-spans.ts'
import { callSandbox, listSandboxObjects, openSandboxTables } from '../support/sandbox.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'
import { settleTrusted } from '../support/settle.ts'

const clock = createTestClock()
const price = 'gpu_instance_seconds.local-cpu.local.0.00001-usd'
let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ worker: false, clock: clock.now })
  await publishSandboxPrices(server.application)
})
afterAll(() => server.close())

interface Organization {
  id: number
  customer: string
  subscription: string
  deploymentId: string
  /** The end of the first period */
  end: Date
}

/**
 * An organization that used an instance for 100 hours from the hour after its activation: 360,000 seconds for
 * $3.60.
 */
async function createPaying(): Promise<Organization> {
  const { client, account } = await registerPostpaid(server.url)
  const id = account.organization_id
  const from = addHours(floorHour(clock.now()), 1)
  const span = { from, to: addHours(from, 100) }
  return {
    id,
    customer: account.processor_customer_id,
    subscription: account.processor_subscription_id,
    deploymentId: await insertInstanceSpan(server.application.db, client, id, span),
    end: new Date(account.current_period_end),
  }
}

/** What the processor does until now; its events don't arrive. */
const advanceProcessor = () => server.application.paymentSandbox!.tick(() => Promise.resolve())

/** What the workers do in ten minutes. */
async function work(changes: Partial<PaymentProcessor> = {}): Promise<void> {
  const application = { ...server.application, payments: { ...server.application.payments, ...changes } }
  await advanceProcessor()
  await settleTrusted(application)
  await reportUsage(application)
  await compareInvoices(application)
  await cancelClosedSubscriptions(application)
}

const setTime = (time: Date) => clock.advance(time.getTime() - clock.now().getTime())

/** Reaches a time with all workers, which run twice a day on the way, and an hour before the end. */
async function workUntil(time: Date): Promise<void> {
  const remaining = () => time.getTime() - clock.now().getTime()
  for (let left = remaining(); left > hour; left = remaining()) {
    clock.advance(Math.min(day / 2, left - hour))
    await work()
  }
  setTime(time)
  await work()
}

/** Usage of ten seconds that the processor has and the ledger does not. */
async function useTwice({ customer }: Organization, at: Date): Promise<void> {
  await openSandboxTables(server.application)
    .insertInto('meter_events')
    .values({ identifier: `twice ${customer}`, event_name: price, customer_id: customer, at, value: '10' })
    .execute()
}

const listComparisons = ({ id }: Organization) =>
  server.application.db
    .selectFrom('invoice_comparisons')
    .selectAll()
    .where('organization_id', '=', id)
    .orderBy('created_at')
    .execute()

async function findDifferences({ id }: Organization): Promise<string[]> {
  await runUsageChecks(server.application, usageReportChecks(server.application))
  const anomalies = await listOpenAnomalies(server.application.db, id)
  return anomalies.filter(({ kind }) => kind === 'invoice_differs').map(({ message }) => message)
}

const twiceUsed = expect.stringContaining(
  `360000 units of ${price} at 0.00001 were used, but 360010 are invoiced`,
)

/** Ends the deployments of a closed organization, as the runtime does. */
async function release({ deploymentId }: Organization): Promise<void> {
  const { db } = server.application
  const ended = { status: 'terminated', status_changed_at: clock.now(), terminated_at: clock.now() } as const
  await db.updateTable('deployments').set(ended).where('id', '=', deploymentId).execute()
  await db
    .updateTable('instances')
    .set({ status: 'released' })
    .where('deployment_id', '=', deploymentId)
    .execute()
}

test('the last invoice of a closed organization is compared, as a draft and when it is final', async () => {
  const closed = await createPaying()
  const differing = await createPaying()
  await workUntil(addHours(clock.now(), 102))
  await useTwice(differing, clock.now())
  for (const organization of [closed, differing]) {
    await closeOrganizationForGood(server.application, serverActor, organization.id)
    await release(organization)
  }
  const isCanceled = async () =>
    (await getAccountOf(server.application.db, differing.id)).subscription_status === 'canceled'
  for (let runs = 0; runs < 20 && !(await isCanceled()); runs++) {
    clock.advance(hour / 6)
    await work()
  }
  // The invoice is a draft for an hour.
  clock.advance(hour / 2)
  await work()
  expect(await listComparisons(differing)).toMatchObject([{ is_final: false }])
  expect(await findDifferences(differing)).toEqual([twiceUsed])
  clock.advance(hour)
  await work()
  expect(await listComparisons(closed)).toMatchObject([{ is_final: true, difference: null }])
  expect(await listComparisons(differing)).toMatchObject([{ is_final: true }])
  expect(await findDifferences(closed)).toEqual([])
  expect(await findDifferences(differing)).toEqual([twiceUsed])
})

test('the last invoice of a subscription canceled at the processor is compared, without usage that waits for the next one', async () => {
  const canceled = await createPaying()
  const differing = await createPaying()
  await workUntil(addHours(clock.now(), 102))
  const { application } = server
  // Its hour is not sealed before the subscription ends, so it can't be reported any more.
  const unreported = floorHour(addHours(clock.now(), -1))
  await application.db
    .updateTable('instance_spans')
    .set({ ended_at: addHours(unreported, 2), reported_end_at: addHours(unreported, 2) })
    .where('organization_id', '=', canceled.id)
    .execute()
  await useTwice(differing, clock.now())
  setTime(addHours(unreported, 2.1))
  for (const { subscription } of [canceled, differing]) {
    await callSandbox(application, 'DELETE', `/v1/subscriptions/${subscription}?invoice_now=true`)
  }
  for (const { id } of [canceled, differing]) {
    await syncAccount(application, (await getAccountOf(application.db, id)).id)
  }
  clock.advance(hour / 2)
  await work()
  expect(await findDifferences(differing)).toEqual([twiceUsed])
  clock.advance(hour)
  await work()
  expect(await listComparisons(canceled)).toMatchObject([{ is_final: true, difference: null }])
  expect(await listComparisons(differing)).toMatchObject([{ is_final: true }])
  expect(await findDifferences(differing)).toEqual([twiceUsed])
})

/** Changes the amounts of the lines of a customer's newest invoice by some cents. */
async function changeAmounts({ customer }: Organization, cents: number): Promise<void> {
  const [invoice] = await listSandboxObjects(server.application, 'invoice', customer)
  if (invoice === undefined) throw new Error('the customer has no invoice')
  const { lines } = invoice
  const data = lines.data.map((line) => ({ ...line, amount: line.amount + cents }))
  await openSandboxTables(server.application)
    .updateTable('objects')
    .set({ data: JSON.stringify({ ...invoice, lines: { ...lines, data } } satisfies Invoice) })
    .where('id', '=', invoice.id)
    .execute()
}

test('an amount that is not the price of its quantity differs, of a draft too; rounding does not', async () => {
  const exact = await createPaying()
  const differing = await createPaying()
  await workUntil(addHours(clock.now(), 102))
  setTime(differing.end)
  await work()
  await changeAmounts(differing, 2)
  clock.advance(hour / 2)
  await work()
  const cost = `360000 units of ${price} at 0.00001 cost 3.6, but 3.62 is`
  expect(await findDifferences(differing)).toEqual([expect.stringContaining(`${cost} on the draft`)])
  clock.advance(hour / 2)
  await advanceProcessor()
  // The final invoice was counted again.
  await changeAmounts(differing, 2)
  await work()
  expect(await findDifferences(differing)).toEqual([expect.stringContaining(`${cost} invoiced`)])
  expect(await listComparisons(exact)).toMatchObject([{ is_final: true, difference: null }])
})

test('an invoice that became final while no worker ran is compared when one is back, a week later and more', async () => {
  const away = await createPaying()
  const differing = await createPaying()
  // The last worker stops before all usage is reported.
  await workUntil(addHours(clock.now(), 50))
  await useTwice(differing, addHours(clock.now(), -1))
  for (let hours = 0; hours <= 24 * 45; hours += 12) {
    clock.advance(hour * 12)
    await advanceProcessor()
  }
  expect(clock.now().getTime()).toBeGreaterThan(away.end.getTime() + 7 * day)
  await work()
  for (const organization of [away, differing]) {
    expect(await listComparisons(organization)).toMatchObject([{ is_final: true }])
  }
  expect(await findDifferences(away)).toEqual([])
  expect(await findDifferences(differing)).toEqual([
    expect.stringMatching(/\d+ units of \S+ at 0.00001 were used, but \d+ are invoiced/),
  ])
})

test('without a new invoice a run makes one request for all organizations', async () => {
  await createPaying()
  await work()
  const calls: string[] = []
  const { payments } = server.application
  const counted: PaymentProcessor = new Proxy(payments, {
    get(target, name: keyof PaymentProcessor) {
      calls.push(name)
      return target[name]
    },
  })
  clock.advance(hour / 6)
  await compareInvoices({ ...server.application, payments: counted })
  expect(calls.filter((name) => name !== 'account')).toEqual(['listUsageInvoices'])
})
