import type { ColumnType, Generated } from 'kysely'
import type { DefaultedTimestamp } from '../../../database/tables.ts'
import type { CollectionMethod } from '../../../ports/payment-processor.ts'
import type { AccountStatus, BillingMode, SubscriptionStatus } from './account-state.ts'

declare module '../../../database/tables.ts' {
  interface Tables {
    billing_accounts: BillingAccountsTable
    billing_activations: BillingActivationsTable
    billing_checkouts: BillingCheckoutsTable
    billing_events: BillingEventsTable
    billing_sweeps: BillingSweepsTable
    usage_reports: UsageReportsTable
    invoice_comparisons: InvoiceComparisonsTable
  }
}

export interface BillingAccountsTable {
  id: Generated<number>
  organization_id: number
  account_type: Generated<'organization'>
  currency: string
  billing_mode: Generated<BillingMode>
  status: Generated<AccountStatus>
  processor_customer_id: string | null
  processor_subscription_id: string | null
  subscription_status: Generated<SubscriptionStatus>
  collection_method: CollectionMethod | null
  current_period_start: Date | null
  current_period_end: Date | null
  auto_charge_enabled_at: Date | null
  auto_charge_enabled_by_user_id: number | null
  postpaid_since: Date | null
  trial_exhausted_at: Date | null
  max_active_resources: number
  usage_reported_through: Date | null
  usage_remainders: ColumnType<Record<string, number>, string | undefined, string>
  lease_number: Generated<number>
  leased_until: Date | null
  synced_at: Date | null
  created_at: Date
  updated_at: Date
}

export interface BillingActivationsTable {
  id: string
  billing_account_id: number
  processor_payment_method_id: string
  user_id: number
  status: Generated<'pending' | 'done' | 'refused'>
  created_at: Date
  finished_at: Date | null
}

export interface BillingCheckoutsTable {
  session_id: string
  billing_account_id: number
  user_id: number
  created_at: Date
  finished_at: Date | null
}

export interface BillingEventsTable {
  id: string
  type: string
  customer_id: string | null
  created_at: Date
  received_at: DefaultedTimestamp
  handled_at: Date | null
  outcome: 'applied' | 'ignored' | null
}

export interface BillingSweepsTable {
  processor: string
  list: 'events' | 'invoices'
  swept_until: Date
}

export interface UsageReportsTable {
  organization_id: number
  price_key: string
  hour: Date
  identifier: string
  customer_id: string
  quantity: number
  at: Date
  status: 'pending' | 'sent' | 'unknown'
  first_attempt_at: Date
  last_attempt_at: Date
  attempts: Generated<number>
  sent_at: Date | null
  last_error: string | null
}

export interface InvoiceComparisonsTable {
  invoice_id: string
  organization_id: number
  created_at: Date
  is_final: Generated<boolean>
  compared_at: Date | null
  difference: string | null
}
