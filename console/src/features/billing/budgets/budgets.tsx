import { useQuery } from '@tanstack/react-query'
import { PiggyBank, Plus } from 'lucide-react'
import { useState } from 'react'
import type { Budget } from '../../../contract.ts'
import { Badge } from '../../../components/badge.tsx'
import { Button } from '../../../components/button.tsx'
import { Section } from '../../../components/page.tsx'
import { Progress } from '../../../components/progress.tsx'
import { EmptyState, ErrorState, SkeletonRows } from '../../../components/states.tsx'
import { formatDay, formatMoney, formatPercent } from '../../../format.ts'
import { text } from '../../../text/index.ts'
import { BudgetDialog } from './budget-dialog.tsx'
import { DeleteBudgetDialog } from './delete-budget-dialog.tsx'
import { budgetsQuery } from './queries.ts'
import { useBudgetName } from './use-budget-name.ts'

type Choice = { dialog: 'add' } | { dialog: 'edit' | 'delete'; budget: Budget } | null

/** The budgets with what was spent of each, the forecast and what happens at the limit. */
export function Budgets() {
  const { data: budgets, error, refetch } = useQuery(budgetsQuery)
  const [choice, setChoice] = useState<Choice>(null)
  const close = () => setChoice(null)
  const add = (
    <Button onClick={() => setChoice({ dialog: 'add' })}>
      <Plus aria-hidden />
      {text.budgets.add}
    </Button>
  )
  const isEmpty = budgets?.length === 0
  return (
    <Section flush title={text.budgets.title} actions={!isEmpty && add}>
      {budgets === undefined ? (
        error ? (
          <ErrorState error={error} onRetry={() => void refetch()} />
        ) : (
          <SkeletonRows count={1} />
        )
      ) : isEmpty ? (
        <EmptyState icon={<PiggyBank />} title={text.budgets.none} action={add}>
          {text.budgets.noneHint}
        </EmptyState>
      ) : (
        <ul className="divide-y">
          {budgets.map((budget) => (
            <BudgetRow
              key={budget.id}
              budget={budget}
              onEdit={() => setChoice({ dialog: 'edit', budget })}
              onDelete={() => setChoice({ dialog: 'delete', budget })}
            />
          ))}
        </ul>
      )}
      {choice?.dialog === 'add' && <BudgetDialog budget={null} onClose={close} />}
      {choice?.dialog === 'edit' && <BudgetDialog budget={choice.budget} onClose={close} />}
      {choice?.dialog === 'delete' && <DeleteBudgetDialog budget={choice.budget} onClose={close} />}
    </Section>
  )
}

interface BudgetRowProps {
  budget: Budget
  onEdit: () => void
  onDelete: () => void
}

function BudgetRow({ budget, onEdit, onDelete }: BudgetRowProps) {
  const name = useBudgetName()(budget)
  const { spent, monthly_limit: limit, forecast, currency, exhausted } = budget
  const share = Number(spent) / Number(limit)
  const passes = !exhausted && Number(forecast) > Number(limit)
  return (
    <li className="grid gap-2 px-5 py-4">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <span className="min-w-0 font-medium wrap-anywhere">{name}</span>
        {exhausted && <Badge tone="bad">{text.budgets.exhausted}</Badge>}
        {passes && <Badge tone="warn">{text.budgets.forecastPasses}</Badge>}
        <div className="ml-auto flex gap-2">
          <Button size="small" aria-label={text.budgets.actionOn(text.budgets.edit, name)} onClick={onEdit}>
            {text.budgets.edit}
          </Button>
          <Button
            size="small"
            variant="quiet"
            aria-label={text.budgets.actionOn(text.budgets.remove, name)}
            onClick={onDelete}
          >
            {text.budgets.remove}
          </Button>
        </div>
      </div>
      <Progress value={share} label={text.budgets.spentShare(formatPercent(share), name)} />
      <div className="tabular flex flex-wrap justify-between gap-x-6 gap-y-1 text-[0.8125rem]">
        <span>{text.budgets.spentOf(formatMoney(spent, currency), formatMoney(limit, currency))}</span>
        <span className="text-muted">
          {text.budgets.forecast(formatMoney(forecast, currency), formatDay(budget.period_end))}
        </span>
      </div>
      <p className="text-[0.8125rem] text-muted">
        {(exhausted ? text.budgets.after : text.budgets.before)[budget.at_limit](budget.scope)}
      </p>
    </li>
  )
}
