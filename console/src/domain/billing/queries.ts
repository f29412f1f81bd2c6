import { queryOptions } from '@tanstack/react-query'
import { callApi } from '../../api/client.ts'

/** The billing features that this server offers. */
export const billingConfigQuery = queryOptions({
  queryKey: ['billing', 'config'],
  queryFn: ({ signal }) => callApi('GET', '/v1/billing/config', { signal }),
  staleTime: 300_000,
})

/** The organization's billing account: mode, status, limits and trial credit. */
export const billingAccountQuery = queryOptions({
  queryKey: ['billing', 'account'],
  queryFn: ({ signal }) => callApi('GET', '/v1/billing/account', { signal }),
  // Webhooks of the payment processor change the account at any time.
  refetchInterval: 15_000,
})

/** Usage and estimated cost of the current billing period. */
export const usageSummaryQuery = queryOptions({
  queryKey: ['billing', 'usage-summary'],
  queryFn: ({ signal }) => callApi('GET', '/v1/billing/usage-summary', { signal }),
  // Usage of running deployments grows continuously.
  refetchInterval: 30_000,
})
