import { page } from '../../routing/page.ts'
import { readText, type RawSearch } from '../../routing/search.ts'
import type { RequestedDays } from './range.ts'

export const usagePage = page({
  path: '/usage',
  readSearch: ({ from, to }: RawSearch): RequestedDays => ({ from: readText(from), to: readText(to) }),
  load: () => import('./usage-page.tsx'),
  component: 'UsagePage',
})
