import { sql } from 'kysely'
import type { RawBuilder } from 'kysely'
import { endpointService } from '../../../base/meters.ts'
import type { InvoicedUsage } from '../../../ports/payment-processor.ts'
import { floorHour } from '../../metering/hours.ts'
import type { BillingAccount } from '../account/store.ts'

/**
 * SQL: when the processor counts a `bucket`. Without a whole unit it has no report: its fraction is in the
 * next one, so it counts no earlier than the report before it, which may have a time in the next period.
 */
const eventTime = sql<Date>`coalesce(report.at, greatest(bucket.hour + interval '59 minutes 59 seconds',
  (SELECT earlier.at FROM usage_reports AS earlier
    WHERE earlier.organization_id = bucket.organization_id AND earlier.price_key = bucket.price_key AND earlier.hour < bucket.hour
    ORDER BY earlier.hour DESC LIMIT 1)))`

/** SQL: true if an invoice charges a `bucket` with its `report`; without a confirmed one, a later does. */
export function isChargedBy(
  account: Pick<BillingAccount, 'postpaid_since' | 'usage_reported_through'>,
  { customerId, periodStart, periodEnd }: Pick<InvoicedUsage, 'customerId' | 'periodStart' | 'periodEnd'>,
): RawBuilder<boolean> {
  const { postpaid_since: since, usage_reported_through: through } = account
  if (since === null || through === null) return sql<boolean>`false`
  return sql<boolean>`(NOT bucket.before_charging AND bucket.service_key <> ${endpointService}
    AND bucket.hour >= ${floorHour(since)}::timestamptz AND bucket.hour < ${through}::timestamptz
    AND coalesce(report.status, 'sent') = 'sent'
    AND coalesce(report.customer_id, ${customerId}) = ${customerId}
    AND ${eventTime} >= ${periodStart}::timestamptz AND ${eventTime} < ${periodEnd}::timestamptz)`
}
