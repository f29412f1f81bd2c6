import type { Generated } from 'kysely'

declare module '../../database/tables.ts' {
  interface Tables {
    sessions: SessionsTable
  }
}

export interface SessionsTable {
  id: Generated<number>
  token_hash: Buffer
  user_id: number
  auth_method: string
  address: string | null
  user_agent: string | null
  last_seen_at: Date
  created_at: Date
  renewed_at: Date
  expires_at: Date
  ends_at: Date | null
  script_name: string | null
}
