import type { Budget } from '../../../contract.ts'
import { ConfirmDialog } from '../../../components/dialog.tsx'
import { ErrorMessage } from '../../../components/states.tsx'
import { useToasts } from '../../../components/toast.tsx'
import { useBudgetWords } from '../../../domain/budgets/use-budget-words.ts'
import { text } from '../../../text/index.ts'
import { useDeleteBudget } from './queries.ts'

/** Asks for confirmation before a budget is deleted. */
export function DeleteBudgetDialog({ budget, onClose }: { budget: Budget; onClose: () => void }) {
  const remove = useDeleteBudget()
  const toasts = useToasts()
  return (
    <ConfirmDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={text.budgets.deleteTitle(useBudgetWords()(budget).name)}
      description={text.budgets.deleteWords}
      confirmLabel={text.budgets.deleteConfirm}
      dangerous
      busy={remove.isPending}
      onConfirm={() =>
        remove.mutate(budget.id, {
          onSuccess: () => {
            toasts.success(text.budgets.deleted)
            onClose()
          },
        })
      }
    >
      <ErrorMessage error={remove.error} />
    </ConfirmDialog>
  )
}
