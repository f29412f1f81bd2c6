import { isDeepStrictEqual } from 'node:util'
import type { Services } from '../../../services.ts'
import { floorHour, addHours } from '../../metering/hours.ts'
import type { UsageEventPlan } from '../../metering/ledger.ts'
import { readUsageEvents } from '../../metering/usage-events.ts'
import { isLive } from '../account/account-state.ts'
import { listPostpaidAccounts } from '../account/store.ts'
import type { BillingAccount } from '../account/store.ts'
import { syncAccount } from '../processor/sync-account.ts'
import {
  assumeEarlierAttempt,
  planAttempt,
  toEventIdentifier,
  isCountSettled,
  judgeReports,
} from './usage-report-plan.ts'
import {
  advanceReportCursor,
  claimReport,
  findLastReportedHours,
  insertReport,
  listUnconfirmedReports,
  markSent,
  readReportedTotals,
} from './usage-report-store.ts'
import type { UsageReport } from './usage-report-store.ts'
import { createUsageReporter } from './usage-reporter.ts'
import type { UsageReporter } from './usage-reporter.ts'

type Deps = Pick<Services, 'db' | 'config' | 'clock' | 'log' | 'payments'>

/** Reports the sealed usage of every organization with a live subscription. Safe to run at any time. */
export async function reportUsage(deps: Deps): Promise<void> {
  for (const account of await listPostpaidAccounts(deps.db)) {
    try {
      await reportAccountUsage(deps, account)
    } catch (error) {
      deps.log.error(
        { err: error, organization: account.organization_id },
        'usage could not be reported to the payment processor',
      )
    }
  }
}

async function reportAccountUsage(deps: Deps, listed: BillingAccount): Promise<void> {
  const { db, clock } = deps
  const isStale = listed.current_period_end !== null && listed.current_period_end <= clock()
  const account = isStale ? await syncAccount(deps, listed.id) : listed
  const {
    organization_id: organizationId,
    processor_customer_id: customerId,
    postpaid_since: since,
  } = account
  // The processor charges nothing without a live subscription: usage waits for the next one.
  if (!isLive(account.subscription_status) || customerId === null || since === null) return
  const unconfirmed = await listUnconfirmedReports(db, organizationId)
  const reporter = createUsageReporter(deps, account, customerId)
  const position = {
    from: account.usage_reported_through ?? floorHour(since),
    remainders: account.usage_remainders,
  }
  for await (const { from, events, next } of readUsageEvents(deps, organizationId, position)) {
    const lastHours = await findLastReportedHours(db, organizationId, from)
    for (const event of events) {
      if (event.hour > (lastHours.get(event.priceKey) ?? 0)) {
        await reportHour(deps, reporter, account, customerId, event)
      }
    }
    await advanceReportCursor(db, organizationId, next)
  }
  await retryReports(deps, reporter, unconfirmed)
  await reconcileUsageReports(deps, reporter, account, since)
}

/** Compares an account's day-old unconfirmed reports with the totals at the processor, price by price. */
async function reconcileUsageReports(
  deps: Deps,
  reporter: UsageReporter,
  account: BillingAccount,
  since: Date,
): Promise<void> {
  const organizationId = account.organization_id
  const groups = Map.groupBy(
    await listUnconfirmedReports(deps.db, organizationId),
    (report) => `${report.customer_id} ${report.price_key}`,
  )
  for (const group of groups.values()) {
    try {
      await reconcilePrice(deps, reporter, account, since, group)
    } catch (error) {
      const { price_key: priceKey } = group[0]!
      deps.log.error(
        { err: error, organization: organizationId, priceKey },
        'unconfirmed usage reports could not be reconciled with the payment processor',
      )
    }
  }
}

/** Repeats a price's lost reports. Leaves unclear totals to a person: a guess could charge twice. */
async function reconcilePrice(
  { db, clock, payments, log }: Deps,
  reporter: UsageReporter,
  account: BillingAccount,
  since: Date,
  unconfirmed: readonly UsageReport[],
): Promise<void> {
  const now = clock()
  const { price_key: priceKey, customer_id: customerId } = unconfirmed[0]!
  // Wait until every report is too old for a retry: fewer unconfirmed reports make the comparison clearer.
  if (unconfirmed.some((report) => planAttempt(report, now) !== 'compare')) return
  const reported = await readReportedTotals(db, unconfirmed[0]!)
  if (!isCountSettled(reported.lastAttemptAt, now)) return
  const nextHour = addHours(floorHour(now), 1)
  const counted = await payments.countUsage(priceKey, customerId, floorHour(since), nextHour)
  // The processor's total may include a report that another process sent in the meantime.
  if (!isDeepStrictEqual(await readReportedTotals(db, unconfirmed[0]!), reported)) return
  const quantities = unconfirmed.map(({ quantity }) => quantity)
  const verdict = judgeReports(counted, reported.confirmed, quantities)
  log.warn(
    { organization: account.organization_id, priceKey, counted, verdict },
    'unconfirmed usage reports were reconciled',
  )
  if (verdict === 'arrived') {
    const identifiers = unconfirmed.map(({ identifier }) => identifier)
    await markSent(db, identifiers, now)
  }
  if (verdict !== 'lost') return
  for (const report of unconfirmed) {
    if (reporter.isPaused(priceKey)) return
    const at = await reporter.findEventTime(priceKey, report.hour)
    if (at === null) return
    const claimed = await claimReport(db, report, { at, now, isFirst: true })
    if (claimed !== undefined) await reporter.send(claimed)
  }
}

/** Inserts the report of an hour and sends it, unless it has to wait. */
async function reportHour(
  { db, clock }: Deps,
  reporter: UsageReporter,
  account: BillingAccount,
  customerId: string,
  { priceKey, hour, quantity }: UsageEventPlan,
): Promise<void> {
  const at = await reporter.findEventTime(priceKey, hour)
  const now = clock()
  const row = {
    organization_id: account.organization_id,
    customer_id: customerId,
    price_key: priceKey,
    hour,
    identifier: toEventIdentifier(customerId, priceKey, hour),
    quantity,
    at: at ?? hour,
  }
  const earlierAttemptAt = assumeEarlierAttempt(hour, now)
  if (earlierAttemptAt !== null) {
    await insertReport(db, row, now, {
      since: earlierAttemptAt,
      reason:
        'the hour ended more than 23 hours ago, for example because no worker ran or the database was restored; ' +
        "the report is sent after a comparison with the payment processor's total",
    })
  } else if (at === null) {
    await insertReport(db, row, now, { since: now, reason: 'the subscription does not have this price yet' })
  } else if (reporter.isPaused(priceKey)) {
    await insertReport(db, row, now, { since: now, reason: 'earlier reports of this price failed' })
  } else {
    const report = await insertReport(db, row, now, null)
    if (report !== undefined) await reporter.send(report)
  }
}

async function retryReports(
  { db, clock }: Deps,
  reporter: UsageReporter,
  unconfirmed: readonly UsageReport[],
): Promise<void> {
  for (const report of unconfirmed) {
    const now = clock()
    if (reporter.isPaused(report.price_key) || planAttempt(report, now) !== 'send') continue
    const at = await reporter.findEventTime(report.price_key, report.hour)
    if (at === null) continue
    const claimed = await claimReport(db, report, { at, now, isFirst: false })
    if (claimed !== undefined) await reporter.send(claimed)
  }
}
