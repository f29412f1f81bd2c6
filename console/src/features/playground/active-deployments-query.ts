import { queryOptions } from '@tanstack/react-query'
import { callApi } from '../../api/client.ts'
import { isMoving } from '../../domain/deployments/status.ts'

/** Active deployments that the person may call. Polls more often while one starts or terminates. */
export const activeDeploymentsQuery = queryOptions({
  queryKey: ['deployments', 'playground'],
  queryFn: ({ signal }) =>
    callApi('GET', '/api/v1/model-deployments', {
      query: { scope: 'callable', active: true, limit: 500 },
      signal,
    }),
  refetchInterval: ({ state }) => (state.data?.items.some(isMoving) ? 2_000 : 15_000),
})
