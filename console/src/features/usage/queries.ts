import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { callApi } from '../../api/client.ts'
import type { RequestedDays } from './range.ts'

// Usage of running deployments grows continuously.
const refetchInterval = 30_000

/** Usage by day. */
export const dailyUsageQuery = (days: RequestedDays) =>
  queryOptions({
    queryKey: ['billing', 'usage', days.from ?? null, days.to ?? null],
    queryFn: ({ signal }) =>
      callApi('GET', '/v1/billing/usage', { signal, query: { from: days.from, to: days.to } }),
    refetchInterval,
    placeholderData: keepPreviousData,
  })

/** The open anomalies of the usage checks. */
export const anomaliesQuery = queryOptions({
  queryKey: ['billing', 'anomalies'],
  queryFn: ({ signal }) => callApi('GET', '/v1/billing/anomalies', { signal }),
  refetchInterval: 60_000,
})
