import type { ReactNode } from 'react'
import type { Budget } from '../../contract.ts'
import { Badge } from '../../components/badge.tsx'
import { Progress } from '../../components/progress.tsx'
import { formatDay, formatMoney, formatPercent } from '../../format.ts'
import { text } from '../../text/index.ts'
import { useBudgetWords } from './use-budget-words.ts'

/** A row with what was spent of a budget, the forecast, and what happens at the limit. */
export function BudgetStanding({ budget, actions }: { budget: Budget; actions?: ReactNode }) {
  const { name, consequence } = useBudgetWords()(budget)
  const { spent, monthly_limit: limit, forecast, currency, exhausted } = budget
  const [share, expected] = [spent, forecast].map((amount) => Number(amount) / Number(limit)) as [
    number,
    number,
  ]
  const passes = !exhausted && expected > 1
  return (
    <li className="grid gap-2 px-5 py-4">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <span className="min-w-0 font-medium wrap-anywhere">{name}</span>
        {exhausted && <Badge tone="bad">{text.budgets.exhausted}</Badge>}
        {passes && <Badge tone="warn">{text.budgets.forecastPasses}</Badge>}
        {actions && <div className="ml-auto flex gap-2">{actions}</div>}
      </div>
      <Progress
        value={share}
        expected={expected}
        tone={exhausted ? 'bad' : passes ? 'warn' : 'accent'}
        label={text.budgets.spentShare(formatPercent(share), name)}
      />
      <div className="tabular flex flex-wrap justify-between gap-x-6 gap-y-1 text-[0.8125rem]">
        <span>{text.budgets.spentOf(formatMoney(spent, currency), formatMoney(limit, currency))}</span>
        <span className="text-muted">
          {text.budgets.forecast(formatMoney(forecast, currency), formatDay(budget.period_end))}
        </span>
      </div>
      <p className="text-[0.8125rem] text-muted">{consequence}</p>
    </li>
  )
}
