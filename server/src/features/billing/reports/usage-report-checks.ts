import { sql } from 'kysely'
import { endpointService } from '../../../base/meters.ts'
import type { Services } from '../../../services.ts'
import type { UsageCheck } from '../../metering/anomalies.ts'
import { isLive, subscriptionStatuses } from '../account/account-state.ts'

/** Reports must be confirmed within this time. */
const confirmationDeadline = sql`interval '2 hours'`
/** Time for sealed usage to get a report: it may wait for a new subscription or the end of an outage. */
const reportDeadline = sql`interval '1 day'`

const liveStatuses = subscriptionStatuses.filter(isLive)

/** How long an invoice that differs from the ledger stays an anomaly after the last comparison. */
const differenceRetention = sql`interval '35 days'`

/** Finds usage without a report, unconfirmed reports, and invoices that differ from the ledger. */
export function usageReportChecks({
  db,
  clock,
  config,
}: Pick<Services, 'db' | 'clock' | 'config'>): UsageCheck[] {
  if (!config.billing.isOn) return []
  return [
    {
      kind: 'unsent_usage',
      async find() {
        const { rows } = await sql<{ organization_id: number; subject: string; message: string }>`
          SELECT organization_id, format('%s %s', organization_id, price_key) AS subject,
            format('%s %s of %s units of %s in the hours from %s to %s %s: %s.', count(*),
              CASE count(*) WHEN 1 THEN 'report' ELSE 'reports' END, sum(quantity), price_key, min(hour), max(hour),
              CASE max(attempts) WHEN 0 THEN 'not sent yet' ELSE 'not confirmed' END,
              rtrim(coalesce((array_agg(last_error ORDER BY hour DESC))[1], 'the process ended'), '.')) AS message
          FROM usage_reports
          WHERE status <> 'sent' AND first_attempt_at < ${clock()}::timestamptz - ${confirmationDeadline}
          GROUP BY organization_id, price_key
          UNION ALL
          SELECT organization_id,
            organization_id || CASE WHEN is_live THEN ' unsent' ELSE ' without subscription' END AS subject,
            format(CASE WHEN is_live
              THEN 'Usage since %s was not reported to the payment processor. Check the worker''s log.'
              ELSE 'Usage since %s can''t be charged because there is no subscription. Activate billing to continue.'
              END, min(hour)) AS message
          FROM (
            SELECT organization_id, account.subscription_status = ANY (${liveStatuses}) AS is_live, min(bucket.hour) AS hour
            FROM billing_accounts AS account JOIN usage_buckets AS bucket USING (organization_id)
            WHERE account.billing_mode = 'postpaid' AND bucket.sealed_at < ${clock()}::timestamptz - ${reportDeadline}
              AND bucket.unit_amount > 0 AND bucket.service_key <> ${endpointService}
              AND bucket.hour >= coalesce(account.usage_reported_through, date_trunc('hour', account.postpaid_since, 'UTC'))
              AND NOT bucket.before_charging
              AND NOT EXISTS (SELECT FROM usage_reports AS report WHERE report.organization_id = bucket.organization_id
                AND report.price_key = bucket.price_key AND report.hour >= bucket.hour)
            GROUP BY account.id, bucket.price_key
            HAVING sum(bucket.quantity) + coalesce((account.usage_remainders ->> bucket.price_key)::numeric, 0) / 1000 >= 1
          ) AS unreported
          GROUP BY organization_id, is_live`.execute(db)
        return rows.map(({ organization_id: organizationId, ...finding }) => ({ organizationId, ...finding }))
      },
    },
    {
      kind: 'invoice_differs',
      async find() {
        const { rows } = await sql<{ organization_id: number; subject: string; message: string }>`
          SELECT organization_id, invoice_id AS subject, difference AS message FROM invoice_comparisons
          WHERE difference IS NOT NULL AND compared_at > ${clock()}::timestamptz - ${differenceRetention}`.execute(
          db,
        )
        return rows.map(({ organization_id: organizationId, ...finding }) => ({ organizationId, ...finding }))
      },
    },
  ]
}
