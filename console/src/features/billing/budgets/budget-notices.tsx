import { useQuery } from '@tanstack/react-query'
import type { Budget } from '../../../contract.ts'
import { Notice } from '../../../components/states.tsx'
import { text } from '../../../text/index.ts'
import { budgetsQuery } from './queries.ts'
import { useBudgetName } from './use-budget-name.ts'

/** Says which budgets have reached a percentage of their limit, and what follows. */
export function BudgetNotices() {
  const { data: budgets = [] } = useQuery(budgetsQuery)
  return budgets.map((budget) => <BudgetNotice key={budget.id} budget={budget} />)
}

function BudgetNotice({ budget }: { budget: Budget }) {
  const name = useBudgetName()(budget)
  const percent = findNoticePercent(budget)
  if (percent === undefined) return null
  const words = budget.exhausted ? text.budgets.after : text.budgets.before
  return (
    <Notice
      tone={percent === 100 ? 'bad' : percent === 80 ? 'warn' : 'busy'}
      title={text.budgets.noticeTitle(percent, name)}
    >
      {words[budget.at_limit](budget.scope)}
    </Notice>
  )
}

/** The highest percentage that people were told of and that still holds after a change of the limit. */
function findNoticePercent({ alerts, spent, monthly_limit: limit }: Budget): number | undefined {
  const share = (100 * Number(spent)) / Number(limit)
  return alerts.findLast(({ percent }) => share >= percent)?.percent
}
