import { useState } from 'react'
import type { Deployment } from '../../contract.ts'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { useToasts } from '../../components/toast.tsx'
import { SameCommand } from '../../domain/cli/same-command.tsx'
import { toCommandName, writeCommand } from '../../domain/cli/write-command.ts'
import { nameDeployment } from '../../domain/deployments/names.ts'
import { text } from '../../text/index.ts'
import { ManagedNotice } from './managed-notice.tsx'
import { nameSharing } from './name-sharing.ts'
import { usePayer } from './payer.ts'
import { useUpdateDeployment } from './queries.ts'
import { isNobody, SharingChoice } from './sharing-choice.tsx'

const words = text.deploymentParts.sharing
const { share, stop } = text.deployment.sharing

interface ShareDialogProps {
  deployment: Deployment
  open: boolean
  onOpenChange: (open: boolean) => void
}

/** Shares a deployment with its organization or stops that. It first names the callers and who pays. */
export function ShareDialog({ deployment, open, onOpenChange }: ShareDialogProps) {
  const change = useUpdateDeployment(deployment.id)
  const toasts = useToasts()
  const organization = usePayer(deployment).name ?? ''
  const { shared_with: sharedWith, policy } = deployment
  const isShared = sharedWith !== null
  const name = nameDeployment(deployment)
  const [chosen, setChosen] = useState<NonNullable<Deployment['shared_with']>>('organization')
  const close = () => {
    change.reset()
    onOpenChange(false)
  }
  const submit = () =>
    change.mutate(
      { shared_with: isShared ? null : chosen },
      {
        onSuccess: () => {
          toasts.success(isShared ? words.stopped : words.started(nameSharing(chosen, organization)))
          close()
        },
      },
    )
  return (
    <ConfirmDialog
      open={open}
      onClose={close}
      title={isShared ? words.stopTitle(name) : words.title(name, organization)}
      confirmLabel={isShared ? stop : share}
      busy={change.isPending}
      error={change.error}
      disabled={!isShared && isNobody(chosen)}
      onConfirm={submit}
    >
      <ManagedNotice deployments={[deployment]} />
      {isShared ? (
        <p>{words.stopWords}</p>
      ) : (
        <div className="grid gap-4">
          <SharingChoice value={chosen} onChange={setChosen} />
          <ul className="grid list-disc gap-2 pl-5">
            {words
              .consequences(
                chosen === 'organization' ? text.teams.allOf(organization) : text.teams.chosen,
                organization,
                policy.cache_scope,
              )
              .map((sentence) => (
                <li key={sentence}>{sentence}</li>
              ))}
          </ul>
        </div>
      )}
      {(isShared || chosen === 'organization') && (
        <SameCommand command={writeCommand(['share', toCommandName(deployment)], { off: isShared })} />
      )}
    </ConfirmDialog>
  )
}
