import { Users } from 'lucide-react'
import { useState } from 'react'
import type { Deployment } from '../../contract.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { useToasts } from '../../components/toast.tsx'
import { text } from '../../text/index.ts'
import { usePayer } from './payer.ts'
import { useUpdateDeployment } from './queries.ts'

const words = text.deployment.sharing

/** Shares a deployment with its organization or stops that. A dialog first names the callers and payer. */
export function ShareButton({ deployment }: { deployment: Deployment }) {
  const [open, setOpen] = useState(false)
  const change = useUpdateDeployment(deployment.id)
  const toasts = useToasts()
  const organization = usePayer(deployment).name ?? ''
  const { model_name: model, shared_with: sharedWith, policy } = deployment
  const isShared = sharedWith !== null
  const close = () => {
    change.reset()
    setOpen(false)
  }
  const submit = () =>
    change.mutate(
      { shared_with: isShared ? null : 'organization' },
      {
        onSuccess: () => {
          toasts.success(isShared ? words.stopped : words.started(organization))
          close()
        },
      },
    )
  return (
    <>
      <Button onClick={() => setOpen(true)}>
        <Users aria-hidden />
        {isShared ? words.stop : words.share}
      </Button>
      <ConfirmDialog
        open={open}
        onClose={close}
        title={isShared ? words.stopTitle(model) : words.title(model, organization)}
        confirmLabel={isShared ? words.stop : words.share}
        busy={change.isPending}
        error={change.error}
        onConfirm={submit}
      >
        {isShared ? (
          <p>{words.stopWords}</p>
        ) : (
          <ul className="grid list-disc gap-2 pl-5">
            {words.consequences(organization, policy.cache_scope).map((sentence) => (
              <li key={sentence}>{sentence}</li>
            ))}
          </ul>
        )}
      </ConfirmDialog>
    </>
  )
}
