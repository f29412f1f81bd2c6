import type { Permission } from '../../base/roles.ts'
import { findStanding, judgeStanding } from '../../base/standing.ts'
import type { Standing, StandingRefusal } from '../../base/standing.ts'
import type { Person } from '../../base/viewer.ts'

/** What a person does with a deployment. */
export type DeploymentAct = keyof typeof rules

/** What each act requires in the deployment's organization. */
const rules = {
  read: { permission: 'readOwnDeployments', changes: false },
  call: { permission: 'useOwnDeployments', changes: true },
  change: { permission: 'createDeployments', changes: true },
  terminate: { permission: 'terminateOwnDeployments', changes: true },
} as const satisfies Record<string, { permission: Permission; changes: boolean }>

/** What decides who may do something with a deployment. */
export interface DeploymentOwnership {
  ownerId: number
  organizationId: number
}

/** A person must not learn that the deployment exists, or learns from the standing in its organization what is missing. */
export type AccessRefusal = { code: 'not_found' } | { code: StandingRefusal; standing: Standing }

/**
 * Decides whether a person may do something with a deployment now; null if so. The person's standing in the deployment's organization
 * decides, whatever their current organization is.
 */
export function judgeAccess({
  act,
  person,
  deployment,
}: {
  act: DeploymentAct
  person: Person
  deployment: DeploymentOwnership
}): AccessRefusal | null {
  const standing = findStanding(person, deployment.organizationId)
  if (standing === undefined || deployment.ownerId !== person.userId) return { code: 'not_found' }
  const { permission, changes } = rules[act]
  const code = judgeStanding(standing, permission, changes)
  return code === null ? null : { code, standing }
}

/** The organizations in which a person may read deployments now. */
export function listReadableOrganizations({ standings }: Person): number[] {
  const { permission, changes } = rules.read
  return standings
    .filter((standing) => judgeStanding(standing, permission, changes) === null)
    .map(({ organizationId }) => organizationId)
}
