import { queryOptions } from '@tanstack/react-query'
import type { DeploymentPage } from '../../../../server/src/contract.ts'
import { callApi } from '../../api/client.ts'
import { deploymentsPath } from '../../domain/deployments/queries.ts'

/** Whether the person has ever created a deployment, including terminated ones. */
export const everDeployedQuery = queryOptions({
  queryKey: ['deployments', 'ever'],
  queryFn: async ({ signal }) =>
    (await callApi<DeploymentPage>('GET', deploymentsPath, { query: { limit: 1 }, signal })).total > 0,
})
