import { useQuery } from '@tanstack/react-query'
import type { Budget } from '../../../contract.ts'
import { organizationDeploymentsQuery } from '../../../domain/deployments/queries.ts'
import { membersQuery } from '../../../domain/members/queries.ts'
import { text } from '../../../text/index.ts'

/** Returns a function that names what a budget is for. */
export function useBudgetName(): (budget: Budget) => string {
  const { data: members } = useQuery(membersQuery)
  const { data: deployments } = useQuery(organizationDeploymentsQuery)
  return ({ scope, scope_id: scopeId }) => {
    if (scope === 'organization') return text.budgets.wholeOrganization
    if (scope === 'member') {
      return members?.find(({ user_id: id }) => id === scopeId)?.name ?? text.budgets.formerMember
    }
    const deployment = deployments?.items.find(({ id }) => id === scopeId)
    return text.budgets.ofDeployment(deployment?.model_name ?? String(scopeId))
  }
}
