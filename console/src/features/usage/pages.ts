import { ChartColumn } from 'lucide-react'
import { usageSummaryQuery } from '../../domain/billing/queries.ts'
import { ownBudgetsQuery } from '../../domain/budgets/queries.ts'
import { page } from '../../routing/page.ts'
import { readText } from '../../routing/search.ts'
import type { RawSearch } from '../../routing/search.ts'
import { text } from '../../text/index.ts'
import { readGroup } from './groups.ts'
import type { UsageGroup } from './groups.ts'
import { dailyUsageQuery, groupedUsageQuery } from './queries.ts'
import { measures } from './measures.ts'
import type { Measure } from './measures.ts'
import type { RequestedDays } from './range.ts'
import { readRequestSearch } from './request-search.ts'

interface RequestedUsage extends RequestedDays {
  group?: UsageGroup | undefined
  /** What the chart of days shows */
  measure?: Measure | undefined
}

export const usagePage = page({
  path: '/usage',
  readSearch: ({ from, to, group, measure }: RawSearch): RequestedUsage => ({
    from: readText(from),
    to: readText(to),
    group: readGroup(group),
    measure: measures.find((one) => one === measure),
  }),
  heading: text.pages.usage,
  frame: 'member',
  navigation: { icon: ChartColumn },
  prefetch: (queryClient, { group, from, to }) => {
    const days = { from, to }
    void queryClient.prefetchQuery(usageSummaryQuery)
    void queryClient.prefetchQuery(ownBudgetsQuery)
    if (group === undefined) void queryClient.prefetchQuery(dailyUsageQuery(days))
    else void queryClient.prefetchQuery(groupedUsageQuery(days, group))
  },
  load: () => import('./usage-page.tsx'),
  component: 'UsagePage',
})

export const requestsPage = page({
  path: '/usage/requests',
  readSearch: readRequestSearch,
  frame: 'member',
  load: () => import('./requests-page.tsx'),
  component: 'RequestsPage',
})
