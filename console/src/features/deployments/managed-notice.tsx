import type { Deployment } from '../../contract.ts'
import { Notice } from '../../components/states.tsx'
import { text } from '../../text/index.ts'

/** Warns before a change that the next `berth apply` takes back. */
export function ManagedNotice({ deployment: { managed_by: name } }: { deployment: Deployment }) {
  return name === null ? null : <Notice tone="warn">{text.deploymentParts.managedWarning(name)}</Notice>
}
