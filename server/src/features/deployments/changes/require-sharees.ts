import { invalidField } from '../../../base/errors.ts'
import type { DatabaseTransaction } from '../../../database/tables.ts'
import { listMemberIds } from '../../organizations/memberships.ts'
import { holdTeams } from '../../teams/hold-teams.ts'
import type { Deployment } from '../state/store.ts'

/** Throws `validation_failed` for teams and people of other organizations, or for nobody. */
export async function requireSharees(
  transaction: DatabaseTransaction,
  { organization_id: organizationId, shared_with: sharedWith }: Deployment,
): Promise<void> {
  if (sharedWith === null || sharedWith === 'organization') return
  const { teams, members } = sharedWith
  if (teams.length + members.length === 0)
    throw invalidField('shared_with', 'Name a team or a member, or use null.', 'custom')
  const [foreign] = await holdTeams(transaction, organizationId, teams)
  if (foreign !== undefined)
    throw invalidField('shared_with.teams', `Your organization has no team ${foreign}.`, 'invalid_value')
  const known = await listMemberIds(transaction, organizationId, members)
  const stranger = members.find((id) => !known.includes(id))
  if (stranger !== undefined)
    throw invalidField('shared_with.members', `Your organization has no member ${stranger}.`, 'invalid_value')
}
