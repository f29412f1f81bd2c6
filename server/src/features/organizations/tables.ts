import type { Generated } from 'kysely'
import type { DefaultedTimestamp } from '../../database/tables.ts'
import type { RoleName } from '../../base/roles.ts'

declare module '../../database/tables.ts' {
  interface Tables {
    organizations: OrganizationsTable
    memberships: MembershipsTable
  }
}

export interface OrganizationsTable {
  id: Generated<number>
  name: string
  slug: string
  description: string | null
  status: Generated<'active' | 'suspended' | 'closed'>
  suspended_at: Date | null
  requires_second_factor: Generated<boolean>
  allow_external: Generated<boolean>
  created_at: DefaultedTimestamp
  updated_at: DefaultedTimestamp
}

export interface MembershipsTable {
  id: Generated<number>
  user_id: number
  organization_id: number
  role: RoleName
  joined_at: DefaultedTimestamp
}
