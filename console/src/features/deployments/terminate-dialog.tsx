import { useQuery } from '@tanstack/react-query'
import type { Deployment } from '../../contract.ts'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { useAccess } from '../../domain/deployments/use-access.ts'
import { formatNumber } from '../../format.ts'
import { text } from '../../text/index.ts'
import { ManagedNotice } from './managed-notice.tsx'
import { describeSharing } from './name-sharing.ts'
import { nameTermination } from './name-termination.ts'
import { usePayer } from './payer.ts'
import { statisticsQuery, useTerminate } from './queries.ts'
import { SameCommand } from '../../domain/cli/same-command.tsx'
import { toCommandName, writeCommand } from '../../domain/cli/write-command.ts'
import { describeDeployment, nameDeployment } from '../../domain/deployments/names.ts'

const words = text.deployments
const shownCallers = 3

interface TerminateDialogProps {
  deployment: Deployment
  open: boolean
  onOpenChange: (open: boolean) => void
}

/** Asks for confirmation to terminate a deployment, or to delete a failed one. */
export function TerminateDialog({ deployment, open, onOpenChange }: TerminateDialogProps) {
  const terminate = useTerminate(deployment.id)
  const failed = deployment.status === 'failed'
  const name = nameDeployment(deployment)
  return (
    <ConfirmDialog
      open={open}
      onClose={() => {
        terminate.reset()
        onOpenChange(false)
      }}
      title={failed ? words.removeTitle(name) : words.terminateTitle(name)}
      description={failed ? words.removeWords : words.terminateWords}
      confirmLabel={nameTermination(deployment)}
      dangerous
      busy={terminate.isPending}
      error={terminate.error}
      onConfirm={() => terminate.mutate(undefined, { onSuccess: () => onOpenChange(false) })}
    >
      <div>
        <p className="text-[0.8125rem] text-muted">{describeDeployment(deployment)}</p>
        <p className="font-mono text-xs break-all text-muted">{deployment.id}</p>
      </div>
      {!failed && <ManagedNotice deployments={[deployment]} ends />}
      {open && !failed && <Callers deployment={deployment} />}
      <SameCommand command={writeCommand(['rm', toCommandName(deployment)])} />
    </ConfirmDialog>
  )
}

/** With whom a deployment is shared, and who called it in the last days. */
function Callers({ deployment }: { deployment: Deployment }) {
  const { inspect } = useAccess(deployment)
  const organization = usePayer(deployment).name ?? ''
  const { data } = useQuery({ ...statisticsQuery(deployment.id, '30d', true), enabled: inspect })
  const callers = data?.members
    .toSorted((one, other) => other.requests - one.requests)
    .slice(0, shownCallers)
    .map(({ name, email, requests }) => text.deploymentSettings.caller(name || email, formatNumber(requests)))
  const more = (data?.members.length ?? 0) - shownCallers
  return (
    <div className="grid gap-1">
      {deployment.shared_with !== null && <p>{describeSharing(deployment.shared_with, organization)}</p>}
      {callers && (
        <p>
          {callers.length === 0
            ? text.deploymentSettings.nobodyCalled
            : text.deploymentSettings.calledBy(callers, Math.max(0, more))}
        </p>
      )}
    </div>
  )
}
