import { queryOptions, skipToken, useMutation, useQueryClient } from '@tanstack/react-query'
import type { DeploymentUpdateInput, DeploymentRequestInput } from '../../contract.ts'
import { callApi } from '../../api/client.ts'
import { usageSummaryQuery } from '../billing/queries.ts'
import { deploymentQuery } from '../deployments/queries.ts'
import type { Variant } from '../models/variants.ts'

/** What a deployment must be able to serve, and where. */
export type Requirements = Pick<
  DeploymentRequestInput,
  'min_context_tokens' | 'min_parallel_sequences' | 'instance_type' | 'engine_options'
>

/** The instance type and price of one variant, with the reasons; disabled without a choice. */
export const planQuery = (modelName: string, choice: Variant | undefined, requirements: Requirements = {}) =>
  queryOptions({
    queryKey: ['catalog', 'plan', modelName, choice, requirements],
    queryFn: choice
      ? ({ signal }) =>
          callApi('POST', '/api/v1/model-deployments/plan', {
            body: { model_name: modelName, ...choice, ...requirements } satisfies DeploymentRequestInput,
            signal,
          })
      : skipToken,
    staleTime: 15_000,
  })

interface DeployInput {
  request: DeploymentRequestInput
  /** Set once the deployment exists: when it sleeps, and who may call it */
  changes: Pick<DeploymentUpdateInput, 'idle_minutes' | 'shared_with'>
}

/** Creates a deployment. Don't repeat it after a `changeError`, which refuses `changes`: it exists then. */
export function useDeploy() {
  const queryClient = useQueryClient()
  return useMutation({
    async mutationFn({ request, changes }: DeployInput) {
      const deployment = await callApi('POST', '/api/v1/model-deployments', { body: request })
      if (Object.keys(changes).length === 0) return { deployment, changeError: null }
      return callApi('PATCH', '/api/v1/model-deployments/{deployment_id}', {
        path: { deployment_id: deployment.id },
        body: changes,
      }).then(
        (changed) => ({ deployment: changed, changeError: null }),
        (error: unknown) => ({ deployment, changeError: error }),
      )
    },
    onSuccess: ({ deployment }) => {
      queryClient.setQueryData(deploymentQuery(deployment.id).queryKey, deployment)
      void queryClient.invalidateQueries({ queryKey: ['deployments'] })
      void queryClient.invalidateQueries({ queryKey: usageSummaryQuery.queryKey })
    },
  })
}
