import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import type { Deployment, OwnOrganization } from '../../contract.ts'
import { organizationQuery } from '../../api/session.ts'
import { isEnding } from '../../domain/deployments/status.ts'
import { organizationsQuery } from '../../domain/session/organizations.ts'
import { text } from '../../text/index.ts'

/** The label of the action: terminate, or delete a failed deployment, or switch the organization before that. */
export function nameTermination({ status }: Deployment, switchTo: OwnOrganization | null): string {
  if (switchTo)
    return status === 'failed' ? text.deployments.switchAndRemove : text.deployments.switchAndTerminate
  return status === 'failed' ? text.deployments.remove : text.deployments.terminate
}

/** The organization that pays for a deployment, by its name; null until the name has loaded. */
export function usePayer({ organization_id }: Deployment): { name: string | null; isCurrent: boolean } {
  const { data: current } = useSuspenseQuery(organizationQuery)
  const { data: own } = useQuery(organizationsQuery)
  if (organization_id === String(current.id)) return { name: current.name, isCurrent: true }
  const payer = own?.find(({ id }) => organization_id === String(id))
  return { name: payer?.name ?? (own ? text.deployments.formerOrganization : null), isCurrent: false }
}

/**
 * Whether the person may terminate a deployment. If only their role in the paying organization allows it, `switchTo` is that
 * organization.
 */
export function useTermination(deployment: Deployment): { switchTo: OwnOrganization | null } | null {
  const { data: current } = useSuspenseQuery(organizationQuery)
  const { data: own } = useQuery(organizationsQuery)
  if (isEnding(deployment)) return null
  if (current.permissions.includes('terminateOwnDeployments')) return { switchTo: null }
  const switchTo = own?.find(({ id }) => deployment.organization_id === String(id))
  return switchTo?.permissions.includes('terminateOwnDeployments') ? { switchTo } : null
}
