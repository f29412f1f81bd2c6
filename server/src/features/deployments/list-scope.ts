import { roleCan } from '../../base/roles.ts'
import { judgeStanding, toRefusalError } from '../../base/standing.ts'
import type { Viewer } from '../../base/viewer.ts'
import { listReadableOrganizations } from './judge-access.ts'
import type { DeploymentListScope } from './store.ts'

/** The deployments that a list shows to the viewer. Throws the refusal of the viewer's current organization for its deployments. */
export function toListScope(viewer: Viewer, scope: 'own' | 'organization'): DeploymentListScope {
  if (scope === 'own') {
    return { of: 'owner', userId: viewer.userId, organizationIds: listReadableOrganizations(viewer) }
  }
  const refusal = judgeStanding(viewer, 'readOwnDeployments', false)
  if (refusal !== null) throw toRefusalError(refusal, viewer)
  const { organizationId, role } = viewer
  return { of: 'organization', organizationId, onlyShared: !roleCan(role, 'manageDeployments') }
}
