import type { PaymentMethod } from '../../contract.ts'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { ErrorMessage } from '../../components/states.tsx'
import { useToasts } from '../../components/toast.tsx'
import { text } from '../../text/index.ts'
import { nameCard } from './card.ts'
import { useRemoveCard } from './queries.ts'

interface RemoveCardDialogProps {
  card: PaymentMethod
  onClose: () => void
  onRemoved: () => void
}

/** Asks for confirmation, or shows why the card can't be removed. */
export function RemoveCardDialog({ card, onClose, onRemoved }: RemoveCardDialogProps) {
  const remove = useRemoveCard()
  const toasts = useToasts()
  return (
    <ConfirmDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={text.billing.removeTitle(nameCard(card))}
      description={text.billing.removeWords}
      confirmLabel={text.billing.removeConfirm}
      dangerous
      busy={remove.isPending}
      onConfirm={() =>
        remove.mutate(card, {
          onSuccess: () => {
            toasts.success(text.billing.removed(nameCard(card)))
            onRemoved()
          },
        })
      }
    >
      <ErrorMessage error={remove.error} />
    </ConfirmDialog>
  )
}
