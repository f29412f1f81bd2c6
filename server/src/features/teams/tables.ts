import type { ColumnType, Generated } from 'kysely'
import type { DefaultedTimestamp } from '../../database/tables.ts'

declare module '../../database/tables.ts' {
  interface Tables {
    teams: TeamsTable
    team_members: TeamMembersTable
  }
}

export interface TeamsTable {
  id: Generated<number>
  organization_id: ColumnType<number, number, never>
  name: string
  managed_by: ColumnType<string | null, string | null | undefined, never>
  created_at: DefaultedTimestamp
}

export interface TeamMembersTable {
  team_id: number
  user_id: number
  organization_id: number
  by_group: Generated<boolean>
}
