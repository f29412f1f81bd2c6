import type { ColumnType, Generated } from 'kysely'

declare module '../../../database/tables.ts' {
  interface Tables {
    sandbox_objects: SandboxObjectsTable
    sandbox_events: SandboxEventsTable
    sandbox_idempotency_keys: SandboxIdempotencyKeysTable
    sandbox_meter_events: SandboxMeterEventsTable
  }
}

export interface SandboxObjectsTable {
  id: string
  sequence: Generated<number>
  type: string
  customer_id: string | null
  data: ColumnType<unknown, string, string>
  created_at: Date
  due_at: Date | null
}

export interface SandboxEventsTable {
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

export interface SandboxIdempotencyKeysTable {
  key: string
  fingerprint: Buffer
  status: number | null
  body: ColumnType<unknown, string, string>
  created_at: Date
}

export interface SandboxMeterEventsTable {
  identifier: string
  event_name: string
  customer_id: string
  at: Date
  value: string
  created_at: Date
}
