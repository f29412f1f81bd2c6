import { findStanding } from '../../../base/standing.ts'
import type { Person } from '../../../base/viewer.ts'
import type { DeploymentOwnership } from '../state/judge-access.ts'

/**
 * The team that has a person's usage of a deployment: the oldest of theirs with which it is shared, or else
 * their oldest; null for none. The SQL function `usage_team` says the same.
 */
export function findUsageTeam(
  person: Person,
  { organizationId, sharedWith }: Pick<DeploymentOwnership, 'organizationId' | 'sharedWith'>,
): number | null {
  const teamIds = findStanding(person, organizationId)?.teamIds ?? []
  const among = sharedWith === null || sharedWith === 'organization' ? [] : sharedWith.teams
  return teamIds.find((id) => among.includes(id)) ?? teamIds[0] ?? null
}
