import { roleCan } from '../../../base/roles.ts'
import type { Permission } from '../../../base/roles.ts'
import { findStanding, judgeStanding } from '../../../base/standing.ts'
import type { Standing, StandingRefusal } from '../../../base/standing.ts'
import type { Person } from '../../../base/viewer.ts'
import { reaches } from './shared-with.ts'
import type { SharedWith } from './shared-with.ts'

/** What a person does with a deployment. `inspect` reads its log and its cost. */
export type DeploymentAct = keyof typeof rules

/** What a deployment is to a person: their own, one that they administer, or a colleague's that is shared. */
type Relation = 'owner' | 'admin' | 'colleague'

interface Rule {
  /** What the act requires in the deployment's organization */
  permission: Permission
  changes: boolean
  /** Who may act if their role has the permission */
  by: readonly Relation[]
}

const managers = ['owner', 'admin'] as const
const everyone = [...managers, 'colleague'] as const

const rules = {
  read: { permission: 'readOwnDeployments', changes: false, by: everyone },
  inspect: { permission: 'readOwnDeployments', changes: false, by: managers },
  call: { permission: 'useOwnDeployments', changes: true, by: everyone },
  change: { permission: 'createDeployments', changes: true, by: managers },
  terminate: { permission: 'terminateOwnDeployments', changes: true, by: managers },
} as const satisfies Record<string, Rule>

/** What decides who may do something with a deployment. */
export interface DeploymentOwnership {
  ownerId: number
  organizationId: number
  sharedWith: SharedWith | null
  /** Others run its engine, so requests leave the installation. */
  isOutside: boolean
}

/** `not_found` hides a deployment from a person; otherwise the person's standing says what is missing. */
export type AccessRefusal = { code: 'not_found' } | { code: StandingRefusal; standing: Standing }

/**
 * Decides whether a person may act on a deployment now; null if so, by the standing in the deployment's
 * organization. Calls of a colleague's deployment come only from there.
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
  const relation = standing === undefined ? null : findRelation(person, standing, deployment)
  if (standing === undefined || relation === null) return { code: 'not_found' }
  // A shared model serves the members who act in its organization, admins included.
  if (act === 'call' && relation !== 'owner' && !mayCall(person, standing, deployment))
    return { code: 'not_found' }
  const { permission, changes, by }: Rule = rules[act]
  if (!by.includes(relation)) return { code: 'forbidden', standing }
  const code = judgeStanding(standing, permission, changes)
  if (code !== null) return { code, standing }
  const leaves = act === 'call' && deployment.isOutside
  return leaves && standing.forbidsExternal === true ? { code: 'external_not_allowed', standing } : null
}

function findRelation(person: Person, standing: Standing, deployment: DeploymentOwnership): Relation | null {
  if (deployment.ownerId === person.userId) return 'owner'
  if (roleCan(standing.role, 'manageDeployments')) return 'admin'
  return isShared(person, standing, deployment) ? 'colleague' : null
}

function mayCall(person: Person, standing: Standing, deployment: DeploymentOwnership): boolean {
  return deployment.organizationId === person.organizationId && isShared(person, standing, deployment)
}

function isShared({ userId }: Person, { teamIds }: Standing, { sharedWith }: DeploymentOwnership): boolean {
  return reaches(sharedWith, { userId, teamIds })
}

/** The organizations in which a person may read deployments now. */
export function listReadableOrganizations({ standings }: Person): number[] {
  const { permission, changes } = rules.read
  return standings
    .filter((standing) => judgeStanding(standing, permission, changes) === null)
    .map(({ organizationId }) => organizationId)
}
