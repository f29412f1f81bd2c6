import { sql } from 'kysely'
import type { Database, DatabaseTransaction } from '../../database/tables.ts'

/** A team with its members, earliest members of the organization first. */
export interface Team {
  id: number
  name: string
  managed_by: string | null
  created_at: Date
  members: { user_id: number; email: string; name: string; kind: 'person' | 'service' }[]
}

const members = sql<Team['members']>`coalesce((
  SELECT json_agg(json_build_object('user_id', users.id, 'email', users.email, 'name', users.name,
    'kind', CASE WHEN users.allowed_networks IS NULL THEN 'person' ELSE 'service' END) ORDER BY memberships.id)
  FROM team_members JOIN users ON users.id = team_members.user_id
    JOIN memberships ON memberships.user_id = users.id AND memberships.organization_id = team_members.organization_id
  WHERE team_members.team_id = teams.id), '[]')`

/** The teams of an organization, oldest first; those of one user if given. */
export function listTeams(db: Database, organizationId: number, userId: number | null): Promise<Team[]> {
  const own = db.selectFrom('team_members').select('team_id').where('user_id', '=', userId)
  return selectTeams(db)
    .where('organization_id', '=', organizationId)
    .$if(userId !== null, (query) => query.where('id', 'in', own))
    .orderBy('id')
    .execute()
}

export function getTeam(db: Database, id: number): Promise<Team> {
  return selectTeams(db).where('id', '=', id).executeTakeFirstOrThrow()
}

function selectTeams(db: Database) {
  return db
    .selectFrom('teams')
    .select(['id', 'name', 'managed_by', 'created_at'])
    .select(members.as('members'))
}

/** Locks a team of the organization until the transaction ends; undefined without such a team. */
export function lockTeam(transaction: DatabaseTransaction, organizationId: number, id: number) {
  return transaction
    .selectFrom('teams')
    .select(['id', 'name'])
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst()
}
