import { sql } from 'kysely'
import type { Application } from '../../application.ts'
import type { UsageCheck } from '../metering/anomalies.ts'

/** How long sending may take before it is told of. */
const patience = sql`interval '2 hours'`
/** How long usage may wait for a new subscription before it is told of. */
const subscriptionPatience = sql`interval '1 day'`

/** Looks for usage of postpaid organizations that the processor was not told of, or of which nobody knows whether it arrived. */
export function usageSendingChecks({ db, clock }: Pick<Application, 'db' | 'clock'>): UsageCheck[] {
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
          SELECT organization_id, format('%s without subscription', organization_id) AS subject,
            format('Usage since %s waits for a subscription that it can be charged to.', min(bucket.hour)) AS message
          FROM billing_accounts AS account JOIN usage_buckets AS bucket USING (organization_id)
          WHERE account.billing_mode = 'postpaid' AND bucket.sealed_at < ${clock()}::timestamptz - ${subscriptionPatience}
            AND bucket.unit_amount > 0 AND bucket.hour >= account.postpaid_since
            AND account.subscription_status IN ('canceled', 'incomplete_expired', 'paused')
            AND bucket.hour > coalesce((SELECT max(hour) FROM usage_sends AS send
              WHERE send.organization_id = bucket.organization_id AND send.price_key = bucket.price_key), '-infinity')
          GROUP BY organization_id`.execute(db)
        return rows.map(({ organization_id: organizationId, ...finding }) => ({ organizationId, ...finding }))
      },
    },
  ]
}
