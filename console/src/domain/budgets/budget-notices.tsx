import type { Budget } from '../../contract.ts'
import { Notice } from '../../components/states.tsx'
import { findNoticePercent } from './notice-percent.ts'
import { useBudgetWords } from './use-budget-words.ts'

/** Says which budgets have reached a percentage of their limit, and what follows. */
export function BudgetNotices({ budgets }: { budgets: readonly Budget[] }) {
  return budgets.map((budget) => <BudgetNotice key={budget.id} budget={budget} />)
}

function BudgetNotice({ budget }: { budget: Budget }) {
  const words = useBudgetWords()(budget)
  const percent = findNoticePercent(budget)
  if (percent === undefined) return null
  return (
    <Notice
      tone={percent === 100 ? 'bad' : percent === 80 ? 'warn' : 'busy'}
      title={words.noticeTitle(percent)}
    >
      {words.consequence}
    </Notice>
  )
}
