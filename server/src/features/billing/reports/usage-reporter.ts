import type { Services } from '../../../services.ts'
import type { BillingAccount } from '../account/store.ts'
import { toEventTime } from './usage-report-plan.ts'
import { markSent } from './usage-report-store.ts'
import type { UsageReport } from './usage-report-store.ts'

/** After this many failures in a row, the other reports of a price wait for the next run. */
const maxConsecutiveFailures = 3

/** Sends usage reports of one account during one run of the job. */
export interface UsageReporter {
  /** The timestamp of an hour's meter event; null while the subscription does not have the price. */
  findEventTime(priceKey: string, hour: Date): Promise<Date | null>
  /** Sends a report and stores the outcome: `sent`, or `unknown` after an error. */
  send(report: UsageReport): Promise<void>
  /** True after three failures in a row for a price. */
  isPaused(priceKey: string): boolean
}

export function createUsageReporter(
  { db, clock, payments, log }: Pick<Services, 'db' | 'clock' | 'payments' | 'log'>,
  { current_period_start: periodStart }: BillingAccount,
  customerId: string,
): UsageReporter {
  const failures = new Map<string, number>()
  let prices: Promise<Map<string, Date>> | undefined

  async function listPrices(): Promise<Map<string, Date>> {
    const subscription = await payments.findSubscription(customerId)
    return new Map(subscription?.prices.map(({ key, since }) => [key, since]))
  }

  return {
    async findEventTime(priceKey, hour) {
      prices ??= listPrices()
      const chargedSince = (await prices).get(priceKey)
      return chargedSince === undefined ? null : toEventTime(hour, { periodStart, chargedSince }, clock())
    },
    isPaused: (priceKey) => (failures.get(priceKey) ?? 0) >= maxConsecutiveFailures,
    async send(report) {
      const { organization_id: organization, price_key: priceKey, hour, identifier } = report
      try {
        await payments.sendUsage({
          priceKey,
          customerId: report.customer_id,
          identifier,
          at: report.at,
          quantity: report.quantity,
        })
      } catch (error) {
        log.warn({ err: error, organization, priceKey, hour }, 'a usage report was not confirmed')
        const reason = error instanceof Error ? error.message : String(error)
        await db
          .updateTable('usage_reports')
          .set({ status: 'unknown', last_error: reason.slice(0, 1000) })
          .where('identifier', '=', identifier)
          .where('status', '!=', 'sent')
          .execute()
        failures.set(priceKey, (failures.get(priceKey) ?? 0) + 1)
        return
      }
      failures.delete(priceKey)
      await markSent(db, [identifier], clock())
    },
  }
}
