import type { Actor } from '../../base/viewer.ts'
import type { DatabaseTransaction } from '../../database/tables.ts'
import { recordAction } from '../audit/record-action.ts'
import { addTeamMember, removeTeamMember } from './manage-teams.ts'

/**
 * Makes a member one of the teams whose names are groups of theirs at the provider, ignoring the case of the
 * letters, and takes them out of those that earlier groups gave. `actor` has the organization.
 */
export async function followTeamGroups(
  transaction: DatabaseTransaction,
  actor: Actor,
  { organizationId, userId, email }: { organizationId: number; userId: number; email: string },
  groups: readonly string[],
): Promise<void> {
  // Keycloak begins its groups with a slash.
  const names = new Set(
    groups.flatMap((group) => [group, group.replace(/^\//, '')]).map((each) => each.toLowerCase()),
  )
  const teams = await transaction
    .selectFrom('teams')
    .leftJoin('team_members', (join) =>
      join.onRef('team_id', '=', 'teams.id').on('team_members.user_id', '=', userId),
    )
    .select(['teams.id', 'teams.name', 'by_group'])
    .where('teams.organization_id', '=', organizationId)
    .orderBy('teams.id')
    .execute()
  for (const { id, name, by_group: byGroup } of teams) {
    const belongs = names.has(name.toLowerCase())
    const change = belongs && byGroup === null ? 'added' : !belongs && byGroup === true ? 'removed' : null
    if (change === null) continue
    if (change === 'added') await addTeamMember(transaction, { id, userId, organizationId, byGroup: true })
    else await removeTeamMember(transaction, id, userId)
    await recordAction(transaction, actor, `team.member_${change}`, {
      target: { type: 'team', id, name },
      details: { user_id: userId, email, by: 'provider' },
    })
  }
}
