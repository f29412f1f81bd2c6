import type { Deployment, Permission } from '../../contract.ts'

/** What a person may do with a deployment. `inspect`: its log and cost; `configure`: its engine. */
export interface DeploymentAccess {
  isOwner: boolean
  inspect: boolean
  call: boolean
  change: boolean
  configure: boolean
  terminate: boolean
}

interface Person {
  userId: number
  currentOrganizationId: number
  /** The permissions in the deployment's organization */
  permissions: readonly Permission[]
}

/** Decides what to offer, by the server's facts: the role in the deployment's organization counts. */
export function judgeAccess(
  { user_id: ownerId, organization_id: organizationId, shared_with: sharedWith }: Deployment,
  { userId, currentOrganizationId, permissions }: Person,
): DeploymentAccess {
  const isOwner = ownerId === String(userId)
  const manages = isOwner || permissions.includes('manageDeployments')
  const isShared = sharedWith !== null && organizationId === String(currentOrganizationId)
  return {
    isOwner,
    inspect: manages,
    call: (isOwner || isShared) && permissions.includes('useOwnDeployments'),
    change: manages && permissions.includes('createDeployments'),
    configure: permissions.includes('manageDeployments'),
    terminate: manages && permissions.includes('terminateOwnDeployments'),
  }
}
