import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { ApiError } from './client.ts'
import { sessionQuery } from './session.ts'

/** Creates the cache of API responses. A 401 of any call clears the session and calls `onSessionEnd`. */
export function createQueryClient(onSessionEnd: () => void): QueryClient {
  const watch = (error: unknown) => {
    if (!(error instanceof ApiError) || error.code !== 'not_authenticated') return
    client.setQueryData(sessionQuery.queryKey, null)
    onSessionEnd()
  }
  const client = new QueryClient({
    queryCache: new QueryCache({ onError: watch }),
    mutationCache: new MutationCache({ onError: watch }),
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        // A 4xx would fail again. Network errors and 5xx may succeed later.
        retry: (failures, error) =>
          !(error instanceof ApiError && error.status >= 400 && error.status < 500) && failures < 3,
        networkMode: 'always',
      },
      mutations: { networkMode: 'always' },
    },
  })
  return client
}
