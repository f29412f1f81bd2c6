import type { Deployment } from '../../contract.ts'
import { text } from '../../text/index.ts'

/** With whom a deployment is shared: the organization, or some of it. */
export function nameSharing(
  sharedWith: NonNullable<Deployment['shared_with']>,
  organization: string,
): string {
  return sharedWith === 'organization' ? organization : text.teams.someOf(organization)
}
