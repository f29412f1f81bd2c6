import { usageSummaryQuery } from '../../domain/billing/queries.ts'
import { page } from '../../routing/page.ts'
import { readText, type RawSearch } from '../../routing/search.ts'
import { dailyUsageQuery } from './queries.ts'
import type { RequestedDays } from './range.ts'

export const usagePage = page({
  path: '/usage',
  readSearch: ({ from, to }: RawSearch): RequestedDays => ({ from: readText(from), to: readText(to) }),
  prefetch: (queryClient, days) => {
    void queryClient.prefetchQuery(usageSummaryQuery)
    void queryClient.prefetchQuery(dailyUsageQuery(days))
  },
  load: () => import('./usage-page.tsx'),
  component: 'UsagePage',
})
