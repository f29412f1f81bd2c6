import { ChartColumn } from 'lucide-react'
import { usageSummaryQuery } from '../../domain/billing/queries.ts'
import { page } from '../../routing/page.ts'
import { readText } from '../../routing/search.ts'
import type { RawSearch } from '../../routing/search.ts'
import { text } from '../../text/index.ts'
import { dailyUsageQuery } from './queries.ts'
import type { RequestedDays } from './range.ts'

export const usagePage = page({
  path: '/usage',
  readSearch: ({ from, to }: RawSearch): RequestedDays => ({ from: readText(from), to: readText(to) }),
  heading: text.pages.usage,
  frame: 'member',
  navigation: { icon: ChartColumn },
  prefetch: (queryClient, days) => {
    void queryClient.prefetchQuery(usageSummaryQuery)
    void queryClient.prefetchQuery(dailyUsageQuery(days))
  },
  load: () => import('./usage-page.tsx'),
  component: 'UsagePage',
})
