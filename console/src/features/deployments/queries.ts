import { keepPreviousData, queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { QueryClient } from '@tanstack/react-query'
import type { Deployment, DeploymentUpdateInput, DeploymentPage, StatisticsWindow } from '../../contract.ts'
import { callApi } from '../../api/client.ts'
import { usageSummaryQuery } from '../../domain/billing/queries.ts'
import { deploymentQuery, steadyInterval } from '../../domain/deployments/queries.ts'
import { toInput } from '../../domain/deployments/reference.ts'

/** One deployment; uses the entry of a loaded list as a placeholder. */
export function useDeployment(id: string) {
  const queryClient = useQueryClient()
  return useQuery({
    ...deploymentQuery(id),
    placeholderData: () =>
      queryClient
        .getQueriesData<DeploymentPage>({ queryKey: ['deployments', 'list'] })
        .flatMap(([, page]) => page?.items ?? [])
        .find((one) => one.id === id),
  })
}

/** The active deployments that the viewer may call */
export const callableDeploymentsQuery = queryOptions({
  queryKey: ['deployments', 'callable'],
  queryFn: ({ signal }) =>
    callApi('GET', '/api/v1/model-deployments', {
      query: { scope: 'callable', active: true, limit: 500 },
      signal,
    }),
})

/** The last lines of an engine's log. useLog adds new ones. */
export const logsQuery = (id: string) =>
  queryOptions({
    queryKey: ['deployments', 'logs', id],
    queryFn: ({ signal }) =>
      callApi('GET', '/api/v1/model-deployments/{deployment_id}/logs', {
        ...toInput(id),
        signal,
      }),
    // Each connection fetches the history again; a cached one would be stale.
    gcTime: 0,
    refetchOnWindowFocus: false,
    structuralSharing: false,
  })

/** Usage and cost since the deployment's creation. After the deployment ended, fetched only once more. */
export const deploymentUsageQuery = (id: string, ended: boolean) =>
  queryOptions({
    queryKey: ['deployments', 'usage', id, { ended }],
    queryFn: ({ signal }) =>
      callApi('GET', '/api/v1/model-deployments/{deployment_id}/usage', {
        ...toInput(id),
        signal,
      }),
    refetchInterval: ended ? false : steadyInterval,
    placeholderData: keepPreviousData,
  })

/** Requests, tokens and latencies within a window up to now. After the end, fetched only once more. */
export const statisticsQuery = (id: string, window: StatisticsWindow, ended: boolean) =>
  queryOptions({
    queryKey: ['deployments', 'statistics', id, window, { ended }],
    queryFn({ signal }) {
      const { path, query } = toInput(id)
      return callApi('GET', '/api/v1/model-deployments/{deployment_id}/statistics', {
        path,
        query: { ...query, window },
        signal,
      })
    },
    refetchInterval: ended ? false : 10_000,
    placeholderData: keepPreviousData,
  })

/** Changes the minimum capacity of a deployment, its policy, its alias, or with whom it is shared. */
export function useUpdateDeployment(id: string) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (changes: DeploymentUpdateInput) =>
      callApi('PATCH', '/api/v1/model-deployments/{deployment_id}', {
        ...toInput(id),
        body: changes,
      }),
    onSuccess: (deployment) => {
      queryClient.setQueryData(deploymentQuery(id).queryKey, deployment)
      void queryClient.invalidateQueries({ queryKey: ['deployments'] })
    },
  })
}

/** Terminates a deployment and updates it in every cached list. */
export function useTerminate(id: string) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: () => callApi('DELETE', '/api/v1/model-deployments/{deployment_id}', toInput(id)),
    onSuccess: (deployment) => {
      showChange(queryClient, deployment)
      void queryClient.invalidateQueries({ queryKey: usageSummaryQuery.queryKey })
    },
  })
}

/** Updates a deployment in the cache and in every cached list, then fetches them again unless told not to. */
export function showChange(queryClient: QueryClient, deployment: Deployment, refetches = true): void {
  queryClient.setQueryData(deploymentQuery(deployment.id).queryKey, deployment)
  queryClient.setQueriesData<DeploymentPage>(
    { queryKey: ['deployments', 'list'] },
    (page) =>
      page && { ...page, items: page.items.map((one) => (one.id === deployment.id ? deployment : one)) },
  )
  if (refetches) void queryClient.invalidateQueries({ queryKey: ['deployments'] })
}
