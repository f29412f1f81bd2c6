import { useNavigate } from '@tanstack/react-router'
import type { DeployableModel } from '../../../contract.ts'
import { ConfirmDialog } from '../../../components/dialog.tsx'
import { useToasts } from '../../../components/toast.tsx'
import { text } from '../../../text/index.ts'
import { useDeleteModel } from './queries.ts'

/** Asks for confirmation before a model is deleted, then leads back to the catalog. */
export function DeleteModelDialog({ model, onClose }: { model: DeployableModel; onClose: () => void }) {
  const navigate = useNavigate()
  const deletion = useDeleteModel()
  const toasts = useToasts()
  return (
    <ConfirmDialog
      onClose={onClose}
      title={text.ownModels.deleteTitle(model.display_name)}
      description={text.ownModels.deleteNote}
      confirmLabel={text.ownModels.deleteConfirm}
      dangerous
      busy={deletion.isPending}
      error={deletion.error}
      onConfirm={() =>
        deletion.mutate(model.id, {
          onSuccess: () => {
            toasts.success(text.ownModels.deleted(model.display_name))
            void navigate({ to: '/catalog' })
          },
        })
      }
    />
  )
}
