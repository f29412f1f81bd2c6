import { queryOptions, skipToken, useMutation, useQueryClient } from '@tanstack/react-query'
import type { Deployment, DeploymentPlan, DeploymentRequest } from '../../../../server/src/contract.ts'
import { callApi } from '../../api/client.ts'
import { deploymentQuery } from '../deployments/queries.ts'
import type { Variant } from '../models/variants.ts'

/** The instance type and price of one variant, with the reasons; disabled without a choice. */
export const planQuery = (modelName: string, choice: Variant | undefined) =>
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

/** Creates a deployment and invalidates every deployment query. */
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
