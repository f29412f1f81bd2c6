import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import type { Deployment } from '../../contract.ts'
import { organizationQuery, useSession } from '../../api/session.ts'
import { organizationsQuery } from '../session/organizations.ts'
import { judgeAccess } from './access.ts'
import type { DeploymentAccess } from './access.ts'

/** Tells what the person may do with a deployment, by their role in its organization. */
export function useAccessJudge(): (deployment: Deployment) => DeploymentAccess {
  const { user } = useSession()
  const { data: current } = useSuspenseQuery(organizationQuery)
  const { data: own } = useQuery(organizationsQuery)
  return (deployment) => {
    const isOf = ({ id }: { id: number }) => deployment.organization_id === String(id)
    const organization = isOf(current) ? current : own?.find(isOf)
    return judgeAccess(deployment, {
      userId: user.id,
      currentOrganizationId: current.id,
      permissions: organization?.permissions ?? [],
    })
  }
}

/** What the person may do with a deployment. */
export const useAccess = (deployment: Deployment): DeploymentAccess => useAccessJudge()(deployment)
