import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query'
import { callApi } from '../../api/client.ts'
import type { Deployment, DeploymentUse } from '../../contract.ts'

const summariesQuery = (ids: readonly string[]) =>
  queryOptions({
    queryKey: ['deployments', 'summaries', ids],
    queryFn: ({ signal }) =>
      callApi('GET', '/api/v1/model-deployments/summary', { query: { ids: [...ids] }, signal }),
    select: ({ items }) => new Map(items.map((item) => [item.deployment_id, item])),
    enabled: ids.length > 0,
    refetchInterval: 60_000,
    staleTime: 30_000,
    placeholderData: keepPreviousData,
  })

/** The use of the deployments of a page of the list, by id; empty until it has loaded. */
export function useSummaries(deployments: readonly Deployment[]): ReadonlyMap<string, DeploymentUse> {
  const ids = deployments.map(({ id }) => id)
  return useQuery(summariesQuery(ids)).data ?? new Map<string, DeploymentUse>()
}
