import { queryOptions, skipToken, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type {
  DeployableModel,
  DeployableModels,
  Deployment,
  DeploymentPlan,
  DeploymentRequest,
  Placements,
} from '../../../../server/src/contract.ts'
import { callApi } from '../../api/client.ts'
import { deploymentQuery } from '../deployments/queries.ts'
import type { VariantChoice } from './variants.ts'

const modelTypes = ['LLM', 'embedding'] as const

/** Every model that can be deployed, of all types, in the catalog's order. */
export const modelsQuery = queryOptions({
  queryKey: ['catalog', 'models'],
  queryFn: async ({ signal }) => {
    const lists = await Promise.all(
      modelTypes.map((type) =>
        callApi<DeployableModels>('GET', '/api/v1/deployable-models', {
          query: { model_type: type },
          signal,
        }),
      ),
    )
    return lists.flatMap(({ items }) => items).toSorted((one, other) => one.sort_order - other.sort_order)
  },
  staleTime: 60_000,
})

/** One model of the catalog; what the list knows of it is shown until it is there. */
export const useModel = (id: string) => {
  const queryClient = useQueryClient()
  return useQuery({
    queryKey: ['catalog', 'model', id],
    queryFn: ({ signal }) =>
      callApi<DeployableModel>('GET', `/api/v1/deployable-models/${encodeURIComponent(id)}`, { signal }),
    placeholderData: () => queryClient.getQueryData(modelsQuery.queryKey)?.find((model) => model.id === id),
    staleTime: 60_000,
  })
}

/** What every variant of every model would run on now. */
export const placementsQuery = queryOptions({
  queryKey: ['catalog', 'placements'],
  queryFn: ({ signal }) => callApi<Placements>('GET', '/api/v1/placements', { signal }),
  staleTime: 30_000,
})

/** What one variant would run on now, what that costs and why; asks nothing without a choice. */
export const planQuery = (modelName: string, choice: VariantChoice | undefined) =>
  queryOptions({
    queryKey: ['catalog', 'plan', modelName, choice],
    queryFn: choice
      ? ({ signal }) =>
          callApi<DeploymentPlan>('POST', '/api/v1/model-deployments/plan', {
            body: { model_name: modelName, ...choice } satisfies DeploymentRequest,
            signal,
          })
      : skipToken,
    staleTime: 15_000,
  })

/** Asks for a deployment; what is known of deployments is then read anew. */
export function useDeploy() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (request: DeploymentRequest) =>
      callApi<Deployment>('POST', '/api/v1/model-deployments', { body: request }),
    onSuccess: (deployment) => {
      queryClient.setQueryData(deploymentQuery(deployment.id).queryKey, deployment)
      void queryClient.invalidateQueries({ queryKey: ['deployments'] })
    },
  })
}
