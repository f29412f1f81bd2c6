import { isDeepStrictEqual } from 'node:util'
import type { Services } from '../../../services.ts'
import { addHours, floorHour } from '../../metering/hours.ts'
import type { BillingAccount } from '../account/store.ts'
import { isCountSettled, judgeReports, planAttempt } from './usage-report-plan.ts'
import { claimReport, listUnconfirmedReports, markSent, readReportedTotals } from './usage-report-store.ts'
import type { UsageReport } from './usage-report-store.ts'
import type { UsageReporter } from './usage-reporter.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'log' | 'payments'>

/** Compares an account's day-old unconfirmed reports with the totals at the processor, price by price. */
export async function reconcileUsageReports(
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
