import type { Deployment } from '../../contract.ts'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { text } from '../../text/index.ts'
import { nameTermination } from './name-termination.ts'
import { useTerminate } from './queries.ts'
import { describeDeployment, nameDeployment } from '../../domain/deployments/names.ts'

const words = text.deployments

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
        <p className="font-mono text-[0.8125rem] break-all text-muted">{deployment.id}</p>
        <p className="text-[0.8125rem] text-muted">{describeDeployment(deployment)}</p>
      </div>
    </ConfirmDialog>
  )
}
