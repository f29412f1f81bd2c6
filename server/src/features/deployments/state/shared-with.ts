import { sql } from 'kysely'
import type { Expression, SqlBool } from 'kysely'
import { findStanding } from '../../../base/standing.ts'
import type { Person } from '../../../base/viewer.ts'

/** Who may call a deployment besides its owner: everybody in the organization, or teams and members of it. */
export type SharedWith = 'organization' | { teams: number[]; members: number[] }

/** A member of an organization with whom deployments may be shared. */
export interface Sharee {
  userId: number
  organizationId: number
  teamIds: readonly number[]
}

/** Whether a deployment is shared with a member of its organization. `isSharedTo` says the same in SQL. */
export function reaches(
  sharedWith: SharedWith | null,
  { userId, teamIds }: Pick<Sharee, 'userId' | 'teamIds'>,
): boolean {
  if (sharedWith === null || sharedWith === 'organization') return sharedWith !== null
  return sharedWith.members.includes(userId) || sharedWith.teams.some((id) => teamIds.includes(id))
}

/** The condition that a row of `deployments` is shared with the member, in their organization. */
export function isSharedTo({ userId, organizationId, teamIds }: Sharee): Expression<SqlBool> {
  return sql<SqlBool>`(deployments.organization_id = ${organizationId} AND shared_with IS NOT NULL AND coalesce(
    shared_with = '"organization"' OR shared_with -> 'members' @> ${JSON.stringify([userId])}::jsonb
      OR EXISTS (SELECT FROM jsonb_array_elements(shared_with -> 'teams') AS team
        WHERE team = ANY (${teamIds.map(String)}::text[]::jsonb[])), false))`
}

/** The viewer as one with whom deployments of their current organization may be shared. */
export function toSharee(person: Person): Sharee {
  const { userId, organizationId } = person
  return { userId, organizationId, teamIds: findStanding(person, organizationId)?.teamIds ?? [] }
}
