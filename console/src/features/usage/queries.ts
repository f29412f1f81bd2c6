import { keepPreviousData, queryOptions, useMutation } from '@tanstack/react-query'
import { callApi, download } from '../../api/client.ts'
import { saveFile } from '../../components/save-file.ts'
import type { DailyUsage } from '../../contract.ts'
import type { GroupedUsage, UsageGroup } from './groups.ts'
import type { DayRange, RequestedDays } from './range.ts'

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

/** Usage by member, deployment or model. */
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

/** Downloads the rows of a grouping as a CSV file. */
export function useDownloadUsage() {
  return useMutation({
    mutationFn: async ({ shown, group }: { shown: DayRange; group: UsageGroup | 'day' }) =>
      saveFile(
        `usage-${group}-${shown.from}-${shown.to}.csv`,
        await download('/v1/billing/usage', 'text/csv', { query: { ...toQuery(shown), group_by: group } }),
      ),
  })
}

function toQuery({ from, to }: RequestedDays) {
  return { from, to }
}

/** The open anomalies of the usage checks. */
export const anomaliesQuery = queryOptions({
  queryKey: ['billing', 'anomalies'],
  queryFn: ({ signal }) => callApi('GET', '/v1/billing/anomalies', { signal }),
  refetchInterval: 60_000,
})
