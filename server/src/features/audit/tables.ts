import type { ColumnType, Generated } from 'kysely'
import type { AuditAction } from './actions.ts'

declare module '../../database/tables.ts' {
  interface Tables {
    audit_log: AuditLogTable
  }
}

/** Append-only: a trigger rejects updates and deletions. */
export interface AuditLogTable {
  id: Generated<number>
  /** The database's clock, which all processes share */
  at: ColumnType<Date, never, never>
  organization_id: number | null
  actor_user_id: number | null
  actor_email: string | null
  action: AuditAction
  target_type: string | null
  target_id: string | null
  target_name: string | null
  address: string | null
  user_agent: string | null
  result: 'succeeded' | 'refused'
  details: ColumnType<Record<string, unknown>, string, never>
}
