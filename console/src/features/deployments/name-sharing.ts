import type { Deployment } from '../../contract.ts'
import { text } from '../../text/index.ts'

/** With whom a deployment is shared: the organization, or some of it. */
export function nameSharing(
  sharedWith: NonNullable<Deployment['shared_with']>,
  organization: string,
): string {
  return sharedWith === 'organization' ? organization : text.teams.someOf(organization)
}

/** Says who may call a shared deployment, in a sentence. */
export function describeSharing(
  sharedWith: NonNullable<Deployment['shared_with']>,
  organization: string,
): string {
  return sharedWith === 'organization'
    ? text.deploymentSettings.sharedWith(organization)
    : text.teams.someMayCall(organization)
}
