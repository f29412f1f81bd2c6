import { queryOptions, skipToken, useMutation, useQueryClient } from '@tanstack/react-query'
import type { DeploymentUpdateInput, DeploymentRequestInput } from '../../contract.ts'
import { callApi } from '../../api/client.ts'
import { usageSummaryQuery } from '../billing/queries.ts'
import { deploymentQuery } from '../deployments/queries.ts'
import type { Variant } from '../models/variants.ts'

/** The least context and number of requests that a deployment must serve. */
export type Minimums = Pick<DeploymentUpdateInput, 'min_context_tokens' | 'min_parallel_sequences'>

/** The instance type and price of one variant, with the reasons; disabled without a choice. */
export const planQuery = (modelName: string, choice: Variant | undefined, minimums: Minimums = {}) =>
  queryOptions({
    queryKey: ['catalog', 'plan', modelName, choice, minimums],
    queryFn: choice
      ? ({ signal }) =>
          callApi('POST', '/api/v1/model-deployments/plan', {
            body: { model_name: modelName, ...choice, ...minimums } satisfies DeploymentRequestInput,
            signal,
          })
      : skipToken,
    staleTime: 15_000,
  })

interface DeployInput {
  request: DeploymentRequestInput
  /** After so many minutes without requests it sleeps; undefined: as the operator has set it */
  idleMinutes: number | undefined
}

/** Creates a deployment. Don't repeat it after a `policyError`, why it won't sleep: it exists then. */
export function useDeploy() {
  const queryClient = useQueryClient()
  return useMutation({
    async mutationFn({ request, idleMinutes }: DeployInput) {
      const deployment = await callApi('POST', '/api/v1/model-deployments', { body: request })
      if (idleMinutes === undefined) return { deployment, policyError: null }
      return callApi('PATCH', '/api/v1/model-deployments/{deployment_id}', {
        path: { deployment_id: deployment.id },
        body: { idle_minutes: idleMinutes },
      }).then(
        (changed) => ({ deployment: changed, policyError: null }),
        (error: unknown) => ({ deployment, policyError: error }),
      )
    },
    onSuccess: ({ deployment }) => {
      queryClient.setQueryData(deploymentQuery(deployment.id).queryKey, deployment)
      void queryClient.invalidateQueries({ queryKey: ['deployments'] })
      void queryClient.invalidateQueries({ queryKey: usageSummaryQuery.queryKey })
    },
  })
}
