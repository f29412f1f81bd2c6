import type { ColumnType, Generated, GeneratedAlways, JSONColumnType, Kysely, Transaction } from 'kysely'
import type { CatalogModel } from '../features/catalog/catalog-file.ts'
import type { AccountStatus, BillingMode, SubscriptionStatus } from '../features/billing/account-state.ts'
import type { DeploymentStatus } from '../features/deployments/lifecycle.ts'
import type { MeterName } from '../features/metering/meters.ts'
import type { Buckets } from '../features/statistics/histogram.ts'
import type { FailureStage, ModelType, ModelVariant } from '../ports/model-runtime.ts'
import type { CollectionMethod } from '../ports/payment-processor.ts'
import type { InvitationRole, RoleName } from '../roles.ts'

/** A pool of connections or a transaction: what every store function takes first. */
export type Database = Kysely<Tables>
export type DatabaseTransaction = Transaction<Tables>

/** Every table of ours as `migrations/` leaves it; pg-boss keeps its own in the schema `pgboss`. */
export interface Tables {
  organizations: OrganizationsTable
  users: UsersTable
  memberships: MembershipsTable
  sessions: SessionsTable
  deployable_models: DeployableModelsTable
  deployments: DeploymentsTable
  deployment_events: DeploymentEventsTable
  failure_logs: FailureLogsTable
  deployment_counts: DeploymentCountsTable
  token_usage: TokenUsageTable
  token_batches: TokenBatchesTable
  deployment_minutes: DeploymentMinutesTable
  usage_cursors: UsageCursorsTable
  instance_spans: InstanceSpansTable
  usage_buckets: UsageBucketsTable
  usage_anomalies: UsageAnomaliesTable
  mails: MailsTable
  password_resets: PasswordResetsTable
  invitations: InvitationsTable
  identities: IdentitiesTable
  sso_flows: SsoFlowsTable
  billing_accounts: BillingAccountsTable
  billing_activations: BillingActivationsTable
  billing_events: BillingEventsTable
  billing_event_sweeps: BillingEventSweepsTable
  usage_sends: UsageSendsTable
  sandbox_objects: SandboxObjectsTable
  sandbox_events: SandboxEventsTable
  sandbox_idempotency_keys: SandboxIdempotencyKeysTable
  sandbox_meter_events: SandboxMeterEventsTable
}

type DefaultedTimestamp = ColumnType<Date, Date | undefined, Date>

interface OrganizationsTable {
  id: Generated<number>
  name: string
  slug: string
  description: string | null
  status: Generated<'active' | 'suspended' | 'closed'>
  created_at: DefaultedTimestamp
  updated_at: DefaultedTimestamp
}

interface UsersTable {
  id: Generated<number>
  email: string
  email_verified_at: Date | null
  password_hash: string | null
  name: string
  first_name: string | null
  last_name: string | null
  country: string | null
  contact_number: string | null
  current_organization_id: number
  profile_incomplete: Generated<boolean>
  created_at: DefaultedTimestamp
  updated_at: DefaultedTimestamp
}

interface MembershipsTable {
  id: Generated<number>
  user_id: number
  organization_id: number
  role: RoleName
  joined_at: DefaultedTimestamp
}

interface SessionsTable {
  id: Generated<number>
  token_hash: Buffer
  user_id: number
  auth_method: string
  created_at: Date
  renewed_at: Date
  expires_at: Date
}

interface DeployableModelsTable {
  id: string
  model_name: string
  model_type: ModelType
  provider: string
  enabled: boolean
  sort_order: number
  entry: JSONColumnType<CatalogModel>
  created_at: DefaultedTimestamp
  updated_at: DefaultedTimestamp
}

interface DeploymentsTable {
  id: string
  user_id: number
  organization_id: number
  model_name: string
  model_format: string
  model_size_in_billions: number
  quantization: string
  inference_model_uid: string
  variant: JSONColumnType<ModelVariant>
  status: DeploymentStatus
  status_message: string | null
  progress: number | null
  selected_instance_type: string | null
  selection_reason: string | null
  offers_refused: Generated<string[]>
  gpu_count: number | null
  memory_bytes: number | null
  context_tokens: number | null
  parallel_sequences: number | null
  region: string | null
  cluster_id: string | null
  instance_id: string | null
  gpu_allocation_id: string | null
  instance_started_at: Date | null
  instance_released_at: Date | null
  ran_at: Date | null
  engine_url: string | null
  engine_restarts: Generated<number>
  engine_restarted_at: Date | null
  failure_stage: FailureStage | null
  failure_reason: string | null
  created_at: Date
  updated_at: Date
  status_changed_at: Date
  terminated_at: Date | null
  reconcile_at: Date | null
  leased_by: string | null
  leased_until: Date | null
  lease_number: Generated<number>
}

interface DeploymentCountsTable {
  user_id: number
  total: number
}

interface DeploymentEventsTable {
  id: Generated<number>
  deployment_id: string
  at: Date
  status: DeploymentStatus
  stage: string | null
  message: string
}

interface FailureLogsTable {
  deployment_id: string
  lines: JSONColumnType<{ at: string; line: string }[]>
}

interface TokenUsageTable {
  deployment_id: string
  organization_id: number
  model_name: string
  hour: Date
  requests: number
  input_tokens: number
  output_tokens: number
}

interface DeploymentMinutesTable {
  deployment_id: string
  minute: Date
  requests: number
  errors: number
  input_tokens: number
  output_tokens: number
  first_byte_buckets: JSONColumnType<Buckets>
  duration_buckets: JSONColumnType<Buckets>
}

interface UsageCursorsTable {
  organization_id: number
  sealed_through: DefaultedTimestamp
  settled_at: Date | null
}

interface InstanceSpansTable {
  id: Generated<number>
  organization_id: number
  deployment_id: string
  instance_type: string
  region: string
  started_at: Date
  ended_at: Date | null
  confirmed_at: Date | null
  voided_at: Date | null
  reported_start_at: Date
  reported_end_at: Date | null
}

interface UsageBucketsTable {
  organization_id: number
  deployment_id: string
  meter: MeterName
  hour: Date
  dimensions: JSONColumnType<Record<string, string>>
  dimensions_key: GeneratedAlways<string>
  quantity: string
  price_key: string
  service_key: string
  display_name: string
  unit_amount: string | null
  currency: string | null
  sealed_at: Date | null
}

interface UsageAnomaliesTable {
  id: Generated<number>
  organization_id: number | null
  deployment_id: string | null
  kind: string
  subject: string
  message: string
  opened_at: Date
  seen_at: Date
  closed_at: Date | null
}

interface MailsTable {
  id: Generated<number>
  kind: 'invitation' | 'password_reset' | 'password_changed'
  subject_id: number
  recipient: string
  message_id: string
  status: Generated<'pending' | 'sent' | 'failed' | 'superseded'>
  attempts: Generated<number>
  last_error: string | null
  created_at: Date
  sent_at: Date | null
  attempt_at: DefaultedTimestamp
}

interface PasswordResetsTable {
  id: Generated<number>
  user_id: number
  nonce: string
  token_hash: Buffer
  created_at: Date
  expires_at: Date
  closed_at: Date | null
}

interface InvitationsTable {
  id: Generated<number>
  organization_id: number
  invitee_email: string
  invited_by_user_id: number
  role: InvitationRole
  status: Generated<'pending' | 'accepted' | 'rejected'>
  nonce: string
  token_hash: Buffer
  mail_id: number | null
  created_at: Date
  expires_at: Date
  resent_at: Date | null
  responded_at: Date | null
  responded_by_user_id: number | null
}

interface IdentitiesTable {
  issuer: string
  subject: string
  user_id: number
  linked_at: Date
}

interface SsoFlowsTable {
  cookie_hash: Buffer
  state_hash: Buffer
  nonce: string
  code_verifier: string
  return_to: string
  invitation_token_hash: Buffer | null
  expires_at: Date
}

interface BillingAccountsTable {
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
  max_active_resources: number
  usage_written_through: Date | null
  usage_remainders: ColumnType<Record<string, number>, string | undefined, string>
  lease_number: Generated<number>
  leased_until: Date | null
  synced_at: Date | null
  created_at: Date
  updated_at: Date
}

interface BillingActivationsTable {
  id: string
  billing_account_id: number
  processor_payment_method_id: string
  user_id: number
  status: Generated<'pending' | 'done' | 'refused'>
  created_at: Date
  finished_at: Date | null
}

interface BillingEventsTable {
  id: string
  type: string
  customer_id: string | null
  created_at: Date
  received_at: DefaultedTimestamp
  handled_at: Date | null
  outcome: 'applied' | 'ignored' | null
}

interface BillingEventSweepsTable {
  processor: string
  swept_until: Date
}

interface UsageSendsTable {
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

interface TokenBatchesTable {
  id: string
  recorded_at: DefaultedTimestamp
}

interface SandboxObjectsTable {
  id: string
  sequence: Generated<number>
  type: string
  customer_id: string | null
  data: ColumnType<unknown, string, string>
  created_at: Date
  due_at: Date | null
}

interface SandboxEventsTable {
  id: string
  sequence: Generated<number>
  type: string
  data: ColumnType<unknown, string, string>
  created_at: Date
  attempts: Generated<number>
  due_at: Date | null
  delivered_at: Date | null
  last_error: string | null
}

interface SandboxIdempotencyKeysTable {
  key: string
  fingerprint: Buffer
  status: number | null
  body: ColumnType<unknown, string, string>
  created_at: Date
}

interface SandboxMeterEventsTable {
  identifier: string
  event_name: string
  customer_id: string
  at: Date
  value: string
  created_at: Date
}
