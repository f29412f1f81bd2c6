import type { Database } from '../../database/tables.ts'

/** The emails of the people in a team; programs read none. */
export async function listTeamEmails(db: Database, teamId: number): Promise<string[]> {
  const people = await db
    .selectFrom('team_members')
    .innerJoin('users', 'users.id', 'team_members.user_id')
    .select('users.email')
    .where('team_id', '=', teamId)
    .where('users.allowed_networks', 'is', null)
    .execute()
  return people.map(({ email }) => email)
}
