import { useQuery } from '@tanstack/react-query'
import { Suspense } from 'react'
import type { Budget } from '../../contract.ts'
import { lazyPart } from '../../routing/lazy-part.ts'
import { ownBudgetsQuery } from '../budgets/queries.ts'

// Most people have no budget.
const BudgetNotices = lazyPart(() =>
  import('../budgets/budget-notices.tsx').then((module) => module.BudgetNotices),
)

/** The budgets that stop new deployments of the person. */
export function ExhaustedBudgets() {
  const { data: budgets = [] } = useQuery(ownBudgetsQuery)
  const stopping = budgets.filter(stopsNewDeployments)
  if (stopping.length === 0) return null
  return (
    <Suspense>
      <BudgetNotices budgets={stopping} />
    </Suspense>
  )
}

const stopsNewDeployments = ({ scope, at_limit: atLimit, exhausted }: Budget) =>
  exhausted && atLimit !== 'notify' && scope !== 'deployment'
