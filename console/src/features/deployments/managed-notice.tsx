import type { Deployment } from '../../contract.ts'
import { Notice } from '../../components/states.tsx'
import { text } from '../../text/index.ts'

interface ManagedNoticeProps {
  deployments: readonly Deployment[]
  /** Whether the act ends them instead of changing them */
  ends?: boolean
}

/** Warns before an act that the next `berth apply` takes back. */
export function ManagedNotice({ deployments, ends = false }: ManagedNoticeProps) {
  const names = [...new Set(deployments.flatMap(({ managed_by: name }) => name ?? []))]
  if (names.length === 0) return null
  const { managedWarning, managedEndWarning } = text.deploymentParts
  return <Notice tone="warn">{(ends ? managedEndWarning : managedWarning)(names)}</Notice>
}
