import type { Generated, JSONColumnType } from 'kysely'
import type { Buckets } from './histogram.ts'

declare module '../../database/tables.ts' {
  interface Tables {
    deployment_minutes: MinuteOf<DeploymentTotalsTable>
    deployment_hours: HourOf<DeploymentTotalsTable>
    caller_minutes: MinuteOf<CallerTotalsTable>
    caller_hours: HourOf<CallerTotalsTable>
    statistics_batches: StatisticsBatchesTable
  }
}

type MinuteOf<Totals> = Totals & { minute: Date }
type HourOf<Totals> = Totals & { hour: Date }

export interface DeploymentTotalsTable {
  deployment_id: string
  requests: number
  errors: number
  failed_by_status: JSONColumnType<Record<string, number>>
  caller_left: number
  retries: number
  input_tokens: number
  output_tokens: number
  in_flight_seconds: Generated<number>
  waiting_seconds: Generated<number>
  first_byte_buckets: JSONColumnType<Buckets>
  duration_buckets: JSONColumnType<Buckets>
}

export interface CallerTotalsTable {
  deployment_id: string
  user_id: number
  requests: number
  input_tokens: number
  output_tokens: number
  waiting_buckets: JSONColumnType<Buckets>
}

export interface StatisticsBatchesTable {
  id: string
  recorded_at: Generated<Date>
}
