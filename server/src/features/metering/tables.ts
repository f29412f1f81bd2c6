import type { Generated, GeneratedAlways, JSONColumnType } from 'kysely'
import type { DefaultedTimestamp } from '../../database/tables.ts'
import type { MeterName } from '../../base/meters.ts'

declare module '../../database/tables.ts' {
  interface Tables {
    token_usage: TokenUsageTable
    token_batches: TokenBatchesTable
    request_log: RequestLogTable
    usage_cursors: UsageCursorsTable
    endpoint_prices: EndpointPricesTable
    settlement_clock: SettlementClockTable
    instance_spans: InstanceSpansTable
    usage_buckets: UsageBucketsTable
    usage_anomalies: UsageAnomaliesTable
  }
}

export interface TokenUsageTable {
  deployment_id: string
  organization_id: number
  user_id: number
  outside_name: Generated<string | null>
  team_id: Generated<number | null>
  model_name: string
  hour: Date
  before_charging: Generated<boolean>
  late_for: Date | null
  requests: number
  input_tokens: number
  output_tokens: number
  cached_tokens: Generated<number>
  processing_milliseconds: Generated<number>
}

export interface TokenBatchesTable {
  id: string
  recorded_at: DefaultedTimestamp
}

export interface RequestLogTable {
  id: string
  at: Date
  organization_id: number
  user_id: number
  deployment_id: string | null
  model: string
  route: string
  status: number
  input_tokens: number | null
  cached_tokens: number | null
  output_tokens: number | null
  first_token_ms: number | null
  duration_ms: number
  client: string | null
  retry: number
  caller_left: boolean
}

export interface EndpointPricesTable {
  endpoint_id: string
  organization_id: number
  valid_from: Date
  input: string | null
  output: string | null
  currency: string
}

export interface UsageCursorsTable {
  organization_id: number
  sealed_through: DefaultedTimestamp
  settled_at: Date | null
  charged_since: Date | null
}

export interface SettlementClockTable {
  id: number
  trusted_at: Date
  observed_at: Date
  observed_milliseconds: number | null
}

export interface InstanceSpansTable {
  id: Generated<number>
  organization_id: number
  deployment_id: string
  engine_id: string
  instance_type: string
  region: string
  instance_id: Generated<string>
  started_at: Date
  ended_at: Date | null
  confirmed_at: Date | null
  voided_at: Date | null
  reported_start_at: Date
  reported_end_at: Date | null
}

export interface UsageBucketsTable {
  id: Generated<number>
  organization_id: number
  deployment_id: string
  meter: MeterName
  hour: Date
  before_charging: Generated<boolean>
  late_for: Date | null
  dimensions: JSONColumnType<Record<string, string>>
  dimensions_key: GeneratedAlways<string>
  quantity: string
  price_key: string
  service_key: string
  display_name: string
  unit_amount: string | null
  currency: string | null
  team_id: number | null
  price_from: Date | null
  price_until: Date | null
  sealed_at: Date | null
  sequence: number | null
  previous_hash: string | null
  hash: string | null
}

export interface UsageAnomaliesTable {
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
