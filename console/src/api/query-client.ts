import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { ApiError } from './client.ts'
import { sessionQuery } from './session.ts'

/**
 * The cache of what the API answered. A 401 of any call means that the session has ended: it is forgotten, and
 * `onSessionEnd` leads to the sign-in page.
 */
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
        // What the API refuses it would refuse again; a server that is away comes back.
        retry: (failures, error) =>
          !(error instanceof ApiError && error.status >= 400 && error.status < 500) && failures < 3,
        networkMode: 'always',
      },
      mutations: { networkMode: 'always' },
    },
  })
  return client
}
