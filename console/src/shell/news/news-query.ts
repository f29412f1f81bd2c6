import { queryOptions } from '@tanstack/react-query'
import type { NewsState } from './news-state.ts'

/** What the tab knows. The event stream fills it, not a request. */
export const newsQuery = queryOptions<NewsState>({ queryKey: ['news'], enabled: false })
