import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { ApiError } from './client.ts'
import { organizationQuery, sessionQuery } from './session.ts'

/**
 * Creates the cache of API responses. Any 401 clears the session and calls `onSessionEnd` with the person's
 * email. Any sign of a newly required second factor reloads the session and calls `onFactorRequired`.
 */
export function createQueryClient(
  onSessionEnd: (email: string | undefined) => void,
  onFactorRequired: () => void,
): QueryClient {
  const watch = (error: unknown) => {
    if (!(error instanceof ApiError)) return
    if (error.code === 'second_factor_setup_required') void leadToFactor()
    if (error.code !== 'not_authenticated') return
    const session = client.getQueryData(sessionQuery.queryKey)
    // Several calls may fail at once.
    if (session === null) return
    client.setQueryData(sessionQuery.queryKey, null)
    onSessionEnd(session?.user.email)
  }
  const leadToFactor = async () => {
    await client.invalidateQueries({ queryKey: sessionQuery.queryKey, refetchType: 'all' })
    onFactorRequired()
  }
  const client = new QueryClient({
    queryCache: new QueryCache({
      onError(error, { state }) {
        watch(error)
        // What the person saw is refused now: perhaps they lost their membership, or their role.
        const isRefused = error instanceof ApiError && (error.status === 403 || error.status === 404)
        if (isRefused && state.data !== undefined) {
          void client.invalidateQueries({ queryKey: organizationQuery.queryKey })
        }
      },
    }),
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
