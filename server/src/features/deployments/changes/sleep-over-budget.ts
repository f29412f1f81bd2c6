import type { Services } from '../../../services.ts'
import { isInScope } from '../../billing/budgets/standing.ts'
import type { BudgetStanding } from '../../billing/budgets/standing.ts'
import { listActiveDeployments } from './member-deployments.ts'
import { putToSleepFor } from './sleep.ts'

/** Puts the running deployments of an exhausted budget to sleep. */
export async function sleepOverBudget(
  deps: Pick<Services, 'db' | 'clock'>,
  budget: BudgetStanding['budget'],
): Promise<void> {
  const active = await listActiveDeployments(deps.db, { organizationId: budget.organization_id })
  for (const { id, user_id: userId } of active) {
    if (!isInScope(budget, { userId, deploymentId: id })) continue
    await putToSleepFor(deps, id, { cause: 'budget' })
  }
}
