import { useMutation } from '@tanstack/react-query'
import { download } from '../../api/client.ts'
import { saveFile } from '../../components/save-file.ts'
import type { UsageGroup } from './groups.ts'
import { toQuery } from './queries.ts'
import type { DayRange } from './range.ts'

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
