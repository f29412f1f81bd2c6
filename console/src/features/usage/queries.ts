import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { callApi } from '../../api/client.ts'
import type { DailyUsage } from '../../contract.ts'
import type { GroupedUsage, UsageGroup } from './groups.ts'
import type { RequestedDays } from './range.ts'

// Usage of running deployments grows continuously.
const refetchInterval = 30_000

export const dailyUsageQuery = (days: RequestedDays) =>
  queryOptions({
    queryKey: ['billing', 'usage', days.from ?? null, days.to ?? null],
    queryFn: async ({ signal }) =>
      (await callApi('GET', '/v1/billing/usage', { signal, query: toQuery(days) })) as DailyUsage,
    refetchInterval,
    placeholderData: keepPreviousData,
  })

/** Usage by team, member, deployment or model. */
export const groupedUsageQuery = (days: RequestedDays, group: UsageGroup) =>
  queryOptions({
    queryKey: ['billing', 'usage', days.from ?? null, days.to ?? null, group],
    queryFn: async ({ signal }) =>
      (await callApi('GET', '/v1/billing/usage', {
        signal,
        query: { ...toQuery(days), group_by: group },
      })) as GroupedUsage,
    refetchInterval,
    placeholderData: keepPreviousData,
  })

export function toQuery({ from, to }: RequestedDays) {
  return { from, to }
}
