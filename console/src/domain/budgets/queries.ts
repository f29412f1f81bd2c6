import { queryOptions } from '@tanstack/react-query'
import { callApi } from '../../api/client.ts'

/** Usage of running deployments grows continuously; in milliseconds. */
export const budgetInterval = 30_000

/** The budgets that limit the person's deployments, oldest first. */
export const ownBudgetsQuery = queryOptions({
  queryKey: ['billing', 'own-budgets'],
  queryFn: ({ signal }) => callApi('GET', '/v1/billing/own-budgets', { signal }),
  refetchInterval: budgetInterval,
})
