import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import type { DailyUsage, UsageAnomaly } from '../../../../server/src/contract.ts'
import { callApi } from '../../api/client.ts'
import type { AskedDays } from './range.ts'

// What runs is counted up to now, so that the numbers grow while one looks.
const refetchInterval = 30_000

/** Usage by the day. */
export const dailyUsageQuery = (days: AskedDays) =>
  queryOptions({
    queryKey: ['billing', 'usage', days.from ?? null, days.to ?? null],
    queryFn: ({ signal }) =>
      callApi<DailyUsage>('GET', '/v1/billing/usage', { signal, query: { from: days.from, to: days.to } }),
    refetchInterval,
    placeholderData: keepPreviousData,
  })

/** What checks of the usage found and still find. */
export const anomaliesQuery = queryOptions({
  queryKey: ['billing', 'anomalies'],
  queryFn: ({ signal }) => callApi<UsageAnomaly[]>('GET', '/v1/billing/anomalies', { signal }),
  refetchInterval: 60_000,
})
