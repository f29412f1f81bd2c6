import { invalidField } from '../../../base/errors.ts'
import type { DatabaseTransaction } from '../../../database/tables.ts'
import { listMemberIds } from '../../organizations/memberships.ts'
import { holdTeams } from '../../teams/hold-teams.ts'
import type { Deployment } from '../state/store.ts'

/** Throws `validation_failed` for teams and people of other organizations, and for an empty list. */
export async function requireSharees(
  transaction: DatabaseTransaction,
  { organization_id: organizationId, shared_with: sharedWith }: Deployment,
): Promise<void> {
  if (sharedWith === null || sharedWith === 'organization') return
  const { teams, members } = sharedWith
  if (teams.length + members.length === 0)
    throw invalidField('shared_with', 'Name a team or a member, or use null.', 'custom')
  refuseUnknown('team', teams, await holdTeams(transaction, organizationId, teams))
  refuseUnknown('member', members, await listMemberIds(transaction, organizationId, members))
}

function refuseUnknown(kind: 'team' | 'member', ids: readonly number[], known: readonly number[]): void {
  const unknown = ids.find((id) => !known.includes(id))
  if (unknown === undefined) return
  throw invalidField(`shared_with.${kind}s`, `Your organization has no ${kind} ${unknown}.`, 'invalid_value')
}
