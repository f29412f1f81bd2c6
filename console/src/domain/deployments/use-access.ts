import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import type { Deployment } from '../../contract.ts'
import { organizationQuery, useSession } from '../../api/session.ts'
import { organizationsQuery } from '../session/organizations.ts'
import { judgeAccess } from './access.ts'
import type { DeploymentAccess } from './access.ts'

/** What the person may do with a deployment, by their role in its organization. */
export function useAccess(deployment: Deployment): DeploymentAccess {
  const { user } = useSession()
  const { data: current } = useSuspenseQuery(organizationQuery)
  const isCurrent = deployment.organization_id === String(current.id)
  const { data: own } = useQuery({ ...organizationsQuery, enabled: !isCurrent })
  const organization = isCurrent ? current : own?.find(({ id }) => deployment.organization_id === String(id))
  return judgeAccess(deployment, {
    userId: user.id,
    currentOrganizationId: current.id,
    permissions: organization?.permissions ?? [],
  })
}
