import { sql } from 'kysely'
import type { DatabaseTransaction } from '../../../database/tables.ts'

/**
 * Forgets the customers and subscriptions at the payment processor, which another installation charges.
 * Paying organizations must activate billing again, and usage until then is not reported.
 */
export async function forgetProcessor(transaction: DatabaseTransaction, at: Date): Promise<void> {
  await transaction
    .updateTable('billing_accounts')
    .set({
      processor_customer_id: null,
      processor_subscription_id: null,
      subscription_status: 'none',
      collection_method: null,
      current_period_start: null,
      current_period_end: null,
      auto_charge_enabled_at: null,
      auto_charge_enabled_by_user_id: null,
      usage_reported_through: sql`date_trunc('hour', ${at}::timestamptz, 'UTC')`,
      usage_remainders: sql`'{}'`,
      leased_until: null,
      updated_at: at,
    })
    .where('processor_customer_id', 'is not', null)
    .execute()
  await transaction
    .updateTable('billing_activations')
    .set({ status: 'refused', finished_at: at })
    .where('status', '=', 'pending')
    .execute()
  await transaction
    .updateTable('billing_checkouts')
    .set({ finished_at: at })
    .where('finished_at', 'is', null)
    .execute()
  await transaction.deleteFrom('usage_reports').where('status', '<>', 'sent').execute()
  await transaction
    .updateTable('billing_events')
    .set({ handled_at: at, outcome: 'ignored' })
    .where('handled_at', 'is', null)
    .execute()
  await transaction
    .updateTable('invoice_comparisons')
    .set({ is_final: true })
    .where('is_final', '=', false)
    .execute()
}
