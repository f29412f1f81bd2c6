import { infiniteQueryOptions } from '@tanstack/react-query'
import { callApi } from '../../api/client.ts'
import type { LoggedDeploymentRequests, LoggedRequests } from '../../contract.ts'
import type { RequestSearch } from './request-search.ts'

const pageSize = 50

/** Requests to models, newest first, in pages. */
export const requestsQuery = ({ deployment, ...filter }: RequestSearch) =>
  infiniteQueryOptions({
    queryKey: ['requests', deployment, filter],
    queryFn({ pageParam, signal }): Promise<LoggedRequests | LoggedDeploymentRequests> {
      const query = { ...toQuery(filter), limit: pageSize, cursor: pageParam }
      return deployment === undefined
        ? callApi('GET', '/v1/requests', { query, signal })
        : callApi('GET', '/api/v1/model-deployments/{deployment_id}/requests', {
            path: { deployment_id: deployment },
            query: { ...query, scope: 'organization' },
            signal,
          })
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  })

function toQuery({ model, status, from, to }: RequestSearch) {
  return {
    model,
    status: status === undefined ? undefined : [status],
    from: startOfDay(from, 0),
    to: startOfDay(to, 1),
  }
}

function startOfDay(day: string | undefined, daysLater: number): string | undefined {
  if (day === undefined) return undefined
  const start = new Date(`${day}T00:00`)
  start.setDate(start.getDate() + daysLater)
  return start.toISOString()
}
