import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import type { Deployment } from '../../contract.ts'
import { organizationQuery } from '../../api/session.ts'
import { organizationsQuery } from '../../domain/session/organizations.ts'
import { text } from '../../text/index.ts'

/** The organization that pays for a deployment, by its name; null until the name has loaded. */
export function usePayer({ organization_id }: Deployment): { name: string | null; isCurrent: boolean } {
  const { data: current } = useSuspenseQuery(organizationQuery)
  const { data: own } = useQuery(organizationsQuery)
  if (organization_id === String(current.id)) return { name: current.name, isCurrent: true }
  const payer = own?.find(({ id }) => organization_id === String(id))
  return { name: payer?.name ?? (own ? text.deployments.formerOrganization : null), isCurrent: false }
}
