import type { Services } from '../../../services.ts'
import { listInScope } from '../../billing/budgets/standing.ts'
import type { BudgetStanding } from '../../billing/budgets/standing.ts'
import { listActiveDeployments } from './member-deployments.ts'
import { putToSleepFor } from './sleep.ts'

/** Puts the running deployments of an exhausted budget to sleep. */
export async function sleepOverBudget(
  deps: Pick<Services, 'db' | 'clock'>,
  budget: BudgetStanding['budget'],
): Promise<void> {
  const active = await listActiveDeployments(deps.db, { organizationId: budget.organization_id })
  const ids = active.map(({ id }) => id)
  for (const id of await listInScope(deps, budget, ids)) {
    await putToSleepFor(deps, id, { cause: 'budget' })
  }
}
