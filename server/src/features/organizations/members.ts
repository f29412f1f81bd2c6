import type { Database } from '../../database/tables.ts'
import type { RoleName } from '../../base/roles.ts'

export interface Member {
  id: number
  user_id: number
  email: string
  name: string
  role: RoleName
  joined_at: Date
  /** The hour of the latest request */
  last_active_at: Date | null
  /** null for a person */
  allowed_networks: string[] | null
  may_name_members: boolean
  member_header: string | null
}

/** The members of an organization, earliest first. */
export function listMembers(db: Database, organizationId: number): Promise<Member[]> {
  return selectMembers(db)
    .where('memberships.organization_id', '=', organizationId)
    .orderBy('memberships.joined_at')
    .orderBy('memberships.id')
    .execute()
}

/** A member by the id of the membership. */
export function getMember(db: Database, id: number): Promise<Member> {
  return selectMembers(db).where('memberships.id', '=', id).executeTakeFirstOrThrow()
}

function selectMembers(db: Database) {
  return db
    .selectFrom('memberships')
    .innerJoin('users', 'users.id', 'memberships.user_id')
    .select([
      'memberships.id',
      'memberships.user_id',
      'users.email',
      'users.name',
      'memberships.role',
      'memberships.joined_at',
      'users.last_active_at',
      'users.allowed_networks',
      'users.may_name_members',
      'users.member_header',
    ])
}
