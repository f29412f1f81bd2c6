import type { PaymentMethod } from '../../contract.ts'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { ErrorMessage } from '../../components/states.tsx'
import { useToasts } from '../../components/toast.tsx'
import { text } from '../../text/index.ts'
import { nameCard } from './card.ts'
import { useRemoveCard } from './queries.ts'

interface RemoveCardDialogProps {
  card: PaymentMethod
  /** Whether the subscription is charged to this card. */
  isCharged: boolean
  isOnly: boolean
  onClose: () => void
  onRemoved: () => void
}

/** Says what is charged afterwards, and asks for confirmation. */
export function RemoveCardDialog({ card, isCharged, isOnly, onClose, onRemoved }: RemoveCardDialogProps) {
  const remove = useRemoveCard()
  const toasts = useToasts()
  return (
    <ConfirmDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={text.billing.removeTitle(nameCard(card))}
      description={text.billing.removeWords[isCharged ? (isOnly ? 'only' : 'charged') : 'spare']}
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
