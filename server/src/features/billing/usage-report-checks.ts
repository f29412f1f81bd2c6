import { sql } from 'kysely'
import type { Services } from '../../services.ts'
import type { UsageCheck } from '../metering/anomalies.ts'
import { isLive, subscriptionStatuses } from './account-state.ts'

/** How long sending may take before it is told of. */
const patience = sql`interval '2 hours'`
/** How long usage may wait until sending begins, for a new subscription or the end of a fault, before it is told of. */
const unwrittenPatience = sql`interval '1 day'`

const liveStatuses = subscriptionStatuses.filter(isLive)

/** Looks for usage of postpaid organizations that the processor was not told of, or of which nobody knows whether it arrived. */
export function usageReportChecks({ db, clock }: Pick<Services, 'db' | 'clock'>): UsageCheck[] {
  return [
    {
      kind: 'unsent_usage',
      async find() {
        const { rows } = await sql<{ organization_id: number; subject: string; message: string }>`
          SELECT organization_id, identifier AS subject,
            format('%s units of %s in the hour of %s are not known to have arrived after %s attempts: %s', quantity, price_key,
              hour, attempts, coalesce(last_error, 'the process ended')) AS message
          FROM usage_sends WHERE status <> 'sent' AND first_attempt_at < ${clock()}::timestamptz - ${patience}
          UNION ALL
          SELECT organization_id,
            organization_id || CASE WHEN is_live THEN ' unsent' ELSE ' without subscription' END AS subject,
            format(CASE WHEN is_live THEN 'Usage since %s was not sent to the payment processor. The log of the worker says why.'
              ELSE 'Usage since %s waits for a subscription that it can be charged to.' END, min(hour)) AS message
          FROM (
            SELECT organization_id, account.subscription_status = ANY (${liveStatuses}) AS is_live, min(bucket.hour) AS hour
            FROM billing_accounts AS account JOIN usage_buckets AS bucket USING (organization_id)
            WHERE account.billing_mode = 'postpaid' AND bucket.sealed_at < ${clock()}::timestamptz - ${unwrittenPatience}
              AND bucket.unit_amount > 0
              AND bucket.hour >= coalesce(account.usage_written_through, account.postpaid_since)
              AND NOT EXISTS (SELECT FROM usage_sends AS send WHERE send.organization_id = bucket.organization_id
                AND send.price_key = bucket.price_key AND send.hour >= bucket.hour)
            GROUP BY account.id, bucket.price_key
            HAVING sum(bucket.quantity) + coalesce((account.usage_remainders ->> bucket.price_key)::numeric, 0) / 1000 >= 1
          ) AS unwritten
          GROUP BY organization_id, is_live`.execute(db)
        return rows.map(({ organization_id: organizationId, ...finding }) => ({ organizationId, ...finding }))
      },
    },
  ]
}
