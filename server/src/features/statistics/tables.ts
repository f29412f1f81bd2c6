import type { Generated, JSONColumnType } from 'kysely'
import type { Buckets } from './histogram.ts'

declare module '../../database/tables.ts' {
  interface Tables {
    deployment_minutes: DeploymentMinutesTable
    caller_minutes: CallerMinutesTable
  }
}

export interface DeploymentMinutesTable {
  deployment_id: string
  minute: Date
  requests: number
  errors: number
  caller_left: number
  retries: number
  input_tokens: number
  output_tokens: number
  in_flight_seconds: Generated<number>
  waiting_seconds: Generated<number>
  first_byte_buckets: JSONColumnType<Buckets>
  duration_buckets: JSONColumnType<Buckets>
}

export interface CallerMinutesTable {
  deployment_id: string
  minute: Date
  user_id: number
  requests: number
  input_tokens: number
  output_tokens: number
  waiting_buckets: JSONColumnType<Buckets>
}
