import { useNavigate } from '@tanstack/react-router'
import type { DeployableModel } from '../../../contract.ts'
import { ConfirmDialog } from '../../../components/dialog.tsx'
import { ErrorMessage } from '../../../components/states.tsx'
import { useToasts } from '../../../components/toast.tsx'
import { text } from '../../../text/index.ts'
import { useRemoveModel } from './queries.ts'

/** Asks for confirmation before a model is removed, then leads back to the catalog. */
export function RemoveModelDialog({ model, onClose }: { model: DeployableModel; onClose: () => void }) {
  const navigate = useNavigate()
  const remove = useRemoveModel()
  const toasts = useToasts()
  return (
    <ConfirmDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={text.ownModels.removeTitle(model.display_name)}
      description={text.ownModels.removeNote}
      confirmLabel={text.ownModels.removeConfirm}
      dangerous
      busy={remove.isPending}
      onConfirm={() =>
        remove.mutate(model.id, {
          onSuccess: () => {
            toasts.success(text.ownModels.removed(model.display_name))
            void navigate({ to: '/catalog' })
          },
        })
      }
    >
      <ErrorMessage error={remove.error} />
    </ConfirmDialog>
  )
}
