import { infiniteQueryOptions } from '@tanstack/react-query'
import { callApi } from '../../api/client.ts'
import { toInput } from '../../domain/deployments/reference.ts'

const pageSize = 50

/** What happened to a deployment, newest first, in pages. */
export const activityQuery = (id: string) =>
  infiniteQueryOptions({
    queryKey: ['deployments', 'activity', id],
    queryFn: ({ signal, pageParam: offset }) => {
      const { path, query } = toInput(id)
      return callApi('GET', '/api/v1/model-deployments/{deployment_id}/activity', {
        path,
        query: { ...query, limit: pageSize, offset },
        signal,
      })
    },
    initialPageParam: 0,
    getNextPageParam: ({ offset, total }) => (offset + pageSize < total ? offset + pageSize : undefined),
  })
