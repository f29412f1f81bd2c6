import { sql } from 'kysely'
import type { Services } from '../../../services.ts'
import { withLease } from '../account/account-lease.ts'
import { isLive } from '../account/account-state.ts'
import { listPostpaidAccounts } from '../account/store.ts'
import type { BillingAccount } from '../account/store.ts'
import { applySubscription } from './sync-account.ts'

type Deps = Pick<Services, 'db' | 'config' | 'clock' | 'log' | 'payments'>

/** Processors count usage with a delay, and what they have not counted at the end is never charged. */
const countDelay = sql`interval '30 minutes'`

/** Cancels closed accounts' subscriptions after their last report. The next run repeats a crashed one. */
export async function cancelClosedSubscriptions(deps: Deps): Promise<void> {
  for (const account of await listPostpaidAccounts(deps.db)) {
    if (account.status !== 'closed' || !isLive(account.subscription_status)) continue
    try {
      if (await isFullyReported(deps, account)) await cancel(deps, account)
    } catch (error) {
      const { organization_id: organization } = account
      deps.log.error(
        { err: error, organization },
        'the subscription of a closed organization was not canceled',
      )
    }
  }
}

async function cancel(deps: Deps, { id }: BillingAccount): Promise<void> {
  const { payments } = deps
  await withLease(deps, id, async (account, lease) => {
    const { processor_customer_id: customerId, processor_subscription_id: subscriptionId } = account
    if (customerId === null || subscriptionId === null) return
    await payments.cancelSubscription(subscriptionId)
    await applySubscription(deps, lease, await payments.findSubscription(customerId))
  })
}

/** True when no deployment has an instance any more and the processor has counted all usage. */
async function isFullyReported(
  { db, clock }: Deps,
  { organization_id: organizationId, postpaid_since: since }: BillingAccount,
): Promise<boolean> {
  const now = clock()
  const { rows } = await sql<{ reported: boolean }>`
    SELECT NOT EXISTS (
        SELECT FROM deployments WHERE organization_id = ${organizationId}
          AND (status NOT IN ('failed', 'terminated')
            OR EXISTS (SELECT FROM instances WHERE deployment_id = deployments.id AND instances.status <> 'released')
            OR status_changed_at > ${now}::timestamptz - ${countDelay}))
      AND NOT EXISTS (
        SELECT FROM usage_buckets WHERE organization_id = ${organizationId} AND sealed_at IS NULL)
      AND NOT EXISTS (
        SELECT FROM usage_buckets AS bucket JOIN billing_accounts AS account USING (organization_id)
        WHERE bucket.organization_id = ${organizationId} AND bucket.unit_amount > 0 AND NOT bucket.before_charging
          AND bucket.hour >= coalesce(account.usage_reported_through, date_trunc('hour', ${since}::timestamptz, 'UTC')))
      AND NOT EXISTS (
        SELECT FROM usage_reports WHERE organization_id = ${organizationId}
          AND (status <> 'sent' OR sent_at > ${now}::timestamptz - ${countDelay})) AS reported`.execute(db)
  return rows[0]?.reported === true
}
