import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect } from 'react'
import { callApi } from '../../api/client.ts'
import { browserStorage } from '../../browser.ts'
import { newsQuery } from './news-query.ts'
import { learnNews, markSeen, noNews } from './news-state.ts'
import type { NewsState } from './news-state.ts'

const storageKey = 'berth.news'

/** What the browser knows of the person and organization; null if nothing. */
function readNews(owner: string): NewsState | null {
  try {
    const stored = JSON.parse(browserStorage.read(storageKey) ?? 'null') as NewsState | null
    return stored?.owner === owner ? stored : null
  } catch {
    return null
  }
}

/**
 * What the tab knows of the news; undefined at first. The browser's other tabs share what waits to be seen.
 * `reload` takes over what they have learned.
 */
export function useNews(owner: string) {
  const queryClient = useQueryClient()
  const { data } = useQuery(newsQuery)
  const state = data?.owner === owner ? data : undefined
  // Whatever happened before the first visit of this browser is old news.
  const { data: first } = useQuery({
    queryKey: ['first-news', owner],
    queryFn: ({ signal }) => callApi('GET', '/v1/events', { signal }),
    enabled: state === undefined && readNews(owner) === null,
    staleTime: Infinity,
  })
  const set = useCallback(
    (news: NewsState) => queryClient.setQueryData(newsQuery.queryKey, news),
    [queryClient],
  )
  const change = useCallback(
    (news: NewsState) => {
      set(news)
      browserStorage.write(storageKey, JSON.stringify(news))
    },
    [set],
  )
  const read = useCallback(() => queryClient.getQueryData(newsQuery.queryKey), [queryClient])
  const reload = useCallback(() => {
    const stored = readNews(owner)
    if (stored !== null) set(stored)
  }, [set, owner])
  const isKnown = state !== undefined
  useEffect(() => {
    if (isKnown) return
    reload()
    if (first && readNews(owner) === null) {
      const learned = first.items
        .toReversed()
        .reduce((now, item) => learnNews(now, item).state, noNews(owner))
      change(markSeen(learned, null))
    }
  }, [isKnown, owner, first, reload, change])
  useEffect(() => {
    const onStorage = ({ key }: StorageEvent) => {
      const stored = key === storageKey ? readNews(owner) : null
      const now = read()
      if (stored !== null && now?.owner === owner) set({ ...now, unseen: stored.unseen })
    }
    window.addEventListener('storage', onStorage)
    return () => window.removeEventListener('storage', onStorage)
  }, [owner, read, set])
  return { state, read, change, reload }
}
