import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import type { BudgetUpdateInput, NewBudgetInput } from '../../../contract.ts'
import { callApi } from '../../../api/client.ts'
import { budgetInterval, ownBudgetsQuery } from '../../../domain/budgets/queries.ts'

/** The budgets of the organization, oldest first; requires the `manageBilling` permission. */
export const budgetsQuery = queryOptions({
  queryKey: ['billing', 'budgets'],
  queryFn: ({ signal }) => callApi('GET', '/v1/billing/budgets', { signal }),
  refetchInterval: budgetInterval,
})

function useRefreshBudgets() {
  const queryClient = useQueryClient()
  return () =>
    Promise.all([
      queryClient.invalidateQueries({ queryKey: budgetsQuery.queryKey }),
      queryClient.invalidateQueries({ queryKey: ownBudgetsQuery.queryKey }),
    ])
}

export function useCreateBudget() {
  const onSuccess = useRefreshBudgets()
  return useMutation({
    mutationFn: (body: NewBudgetInput) => callApi('POST', '/v1/billing/budgets', { body }),
    onSuccess,
  })
}

export function useUpdateBudget(id: number) {
  const onSuccess = useRefreshBudgets()
  return useMutation({
    mutationFn: (body: BudgetUpdateInput) =>
      callApi('PATCH', '/v1/billing/budgets/{budget_id}', { path: { budget_id: id }, body }),
    onSuccess,
  })
}

export function useDeleteBudget() {
  const onSuccess = useRefreshBudgets()
  return useMutation({
    mutationFn: (id: number) =>
      callApi('DELETE', '/v1/billing/budgets/{budget_id}', { path: { budget_id: id } }),
    onSuccess,
  })
}
