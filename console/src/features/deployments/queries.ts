import { keepPreviousData, queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type {
  Deployment,
  DeploymentEvent,
  DeploymentEvents,
  DeploymentLogs,
  DeploymentPage,
  DeploymentStatistics,
  DeploymentUsage,
  StatisticsWindow,
} from '../../../../server/src/contract.ts'
import { callApi } from '../../api/client.ts'
import { deploymentPath, deploymentQuery, steadyInterval } from '../../domain/deployments/queries.ts'
import { mergeEvent } from './steps.ts'

/** One deployment; what a list knows of it is shown until it is there. */
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

/** What happened to a deployment, oldest first; useLiveEvents adds what happens next. */
export const eventsQuery = (id: string) =>
  queryOptions({
    queryKey: ['deployments', 'events', id],
    queryFn: async ({ signal, client, queryKey }) => {
      const { items } = await callApi<DeploymentEvents>('GET', deploymentPath(id, '/events'), { signal })
      // One may have come by the stream after this answer was made.
      const streamed = client.getQueryData<DeploymentEvent[]>(queryKey) ?? []
      return streamed.reduce(mergeEvent, items)
    },
    staleTime: steadyInterval,
  })

/** The last lines of an engine's log; useLog adds those that come. */
export const logsQuery = (id: string) =>
  queryOptions({
    queryKey: ['deployments', 'logs', id],
    queryFn: ({ signal }) => callApi<DeploymentLogs>('GET', deploymentPath(id, '/logs'), { signal }),
    // It is read again with each connection, and never shown from before.
    gcTime: 0,
    refetchOnWindowFocus: false,
    structuralSharing: false,
  })

/** What a deployment used and cost since it began; asked once more when it has ended, and then left alone. */
export const deploymentUsageQuery = (id: string, ended: boolean) =>
  queryOptions({
    queryKey: ['deployments', 'usage', id, { ended }],
    queryFn: ({ signal }) => callApi<DeploymentUsage>('GET', deploymentPath(id, '/usage'), { signal }),
    refetchInterval: ended ? false : steadyInterval,
    placeholderData: keepPreviousData,
  })

/** Requests, tokens and latencies of a deployment within a window that ends now; asked once more when it has ended. */
export const statisticsQuery = (id: string, window: StatisticsWindow, ended: boolean) =>
  queryOptions({
    queryKey: ['deployments', 'statistics', id, window, { ended }],
    queryFn: ({ signal }) =>
      callApi<DeploymentStatistics>('GET', deploymentPath(id, '/statistics'), { query: { window }, signal }),
    refetchInterval: ended ? false : 10_000,
    placeholderData: keepPreviousData,
  })

/** Ends a deployment; the answer is shown at once, wherever it is listed. */
export function useTerminate(id: string) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: () => callApi<Deployment>('DELETE', deploymentPath(id)),
    onSuccess: (deployment) => {
      queryClient.setQueryData(deploymentQuery(id).queryKey, deployment)
      queryClient.setQueriesData<DeploymentPage>(
        { queryKey: ['deployments', 'list'] },
        (page) => page && { ...page, items: page.items.map((one) => (one.id === id ? deployment : one)) },
      )
      void queryClient.invalidateQueries({ queryKey: ['deployments'] })
    },
  })
}
