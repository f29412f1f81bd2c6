import type { Generated } from 'kysely'
import type { DefaultedTimestamp } from '../../database/tables.ts'

declare module '../../database/tables.ts' {
  interface Tables {
    users: UsersTable
    known_networks: KnownNetworksTable
    rate_limits: RateLimitsTable
  }
}

export interface UsersTable {
  id: Generated<number>
  email: string
  email_verified_at: Date | null
  password_hash: string | null
  allowed_networks: string[] | null
  may_name_members: Generated<boolean>
  member_header: Generated<string | null>
  name: string
  first_name: string | null
  last_name: string | null
  country: string | null
  contact_number: string | null
  current_organization_id: number
  profile_incomplete: Generated<boolean>
  last_active_at: Date | null
  operator_since: Date | null
  disabled_at: Date | null
  deleted_at: Date | null
  created_at: DefaultedTimestamp
  updated_at: DefaultedTimestamp
}

export interface KnownNetworksTable {
  user_id: number
  network: string
  last_seen_at: Date
}

/** Counters of attempts. `expire` is the end of the window in milliseconds since 1970. */
export interface RateLimitsTable {
  key: string
  points: Generated<number>
  expire: number | null
}
