import { useQuery } from '@tanstack/react-query'
import { PiggyBank, Plus } from 'lucide-react'
import { useState } from 'react'
import { ConfirmDialog } from '../../../components/dialog.tsx'
import { Loaded } from '../../../components/loaded.tsx'
import { useToasts } from '../../../components/toast.tsx'
import type { Budget } from '../../../contract.ts'
import { Button } from '../../../components/button.tsx'
import { Section } from '../../../components/page.tsx'
import { EmptyState } from '../../../components/states.tsx'
import { BudgetStanding } from '../../../domain/budgets/budget-standing.tsx'
import { useBudgetWords } from '../../../domain/budgets/use-budget-words.ts'
import { text } from '../../../text/index.ts'
import { BudgetDialog } from './budget-dialog.tsx'
import { budgetsQuery, useDeleteBudget } from './queries.ts'

type Choice = { dialog: 'add' } | { dialog: 'edit' | 'delete'; budget: Budget } | null

/** The budgets with what was spent of each, the forecast and what happens at the limit. */
export function Budgets() {
  const query = useQuery(budgetsQuery)
  const [choice, setChoice] = useState<Choice>(null)
  const close = () => setChoice(null)
  const add = (
    <Button onClick={() => setChoice({ dialog: 'add' })}>
      <Plus aria-hidden />
      {text.budgets.add}
    </Button>
  )
  const isEmpty = query.data?.length === 0
  return (
    <Section id="budgets" flush title={text.budgets.title} actions={!isEmpty && add}>
      <Loaded query={query} rows={1}>
        {(budgets) =>
          isEmpty ? (
            <EmptyState icon={<PiggyBank />} title={text.budgets.none} action={add}>
              {text.budgets.noneHint}
            </EmptyState>
          ) : (
            <ul className="divide-y">
              {budgets.map((budget) => (
                <BudgetStanding
                  key={budget.id}
                  budget={budget}
                  actions={<BudgetActions budget={budget} onChoose={setChoice} />}
                />
              ))}
            </ul>
          )
        }
      </Loaded>
      {choice?.dialog === 'add' && <BudgetDialog budget={null} onClose={close} />}
      {choice?.dialog === 'edit' && <BudgetDialog budget={choice.budget} onClose={close} />}
      {choice?.dialog === 'delete' && <DeleteBudgetDialog budget={choice.budget} onClose={close} />}
    </Section>
  )
}

/** Asks for confirmation before a budget is deleted. */
function DeleteBudgetDialog({ budget, onClose }: { budget: Budget; onClose: () => void }) {
  const remove = useDeleteBudget()
  const toasts = useToasts()
  return (
    <ConfirmDialog
      onClose={onClose}
      title={text.budgets.deleteTitle(useBudgetWords()(budget).name)}
      description={text.budgets.deleteWords}
      confirmLabel={text.budgets.deleteConfirm}
      dangerous
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() =>
        remove.mutate(budget.id, {
          onSuccess: () => {
            toasts.success(text.budgets.deleted)
            onClose()
          },
        })
      }
    />
  )
}

function BudgetActions({ budget, onChoose }: { budget: Budget; onChoose: (choice: Choice) => void }) {
  const { name } = useBudgetWords()(budget)
  return (
    <>
      <Button
        size="small"
        aria-label={text.budgets.actionOn(text.budgets.edit, name)}
        onClick={() => onChoose({ dialog: 'edit', budget })}
      >
        {text.budgets.edit}
      </Button>
      <Button
        size="small"
        variant="quiet"
        aria-label={text.budgets.actionOn(text.budgets.remove, name)}
        onClick={() => onChoose({ dialog: 'delete', budget })}
      >
        {text.budgets.remove}
      </Button>
    </>
  )
}
