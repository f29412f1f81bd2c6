import { roleCan } from '../../../base/roles.ts'
import { judgeStanding, toRefusalError } from '../../../base/standing.ts'
import type { Viewer } from '../../../base/viewer.ts'
import { listReadableOrganizations } from './judge-access.ts'
import { toSharee } from './shared-with.ts'
import type { DeploymentListScope } from './deployment-list.ts'

export const listScopes = ['own', 'organization', 'callable'] as const

/** The deployments of a viewer's list. Throws the current organization's refusal for its deployments. */
export function toListScope(viewer: Viewer, scope: (typeof listScopes)[number]): DeploymentListScope {
  const { organizationId, role, userId } = viewer
  const seesAll = roleCan(role, 'manageDeployments')
  const costsOf = seesAll ? null : userId
  const refusal = judgeStanding(viewer, 'readOwnDeployments', false)
  if (scope !== 'organization') {
    const organizationIds = listReadableOrganizations(viewer)
    const sharee = scope === 'callable' && refusal === null ? toSharee(viewer) : null
    return { of: 'owner', costsOf, userId, organizationIds, sharee }
  }
  if (refusal !== null) throw toRefusalError(refusal, viewer)
  return { of: 'organization', costsOf, organizationId, sharee: seesAll ? null : toSharee(viewer) }
}
