import { queryOptions } from '@tanstack/react-query'
import { callApi } from '../../api/client.ts'

/** Whether the person has ever created a deployment, including terminated ones. */
export const everDeployedQuery = queryOptions({
  queryKey: ['deployments', 'ever'],
  queryFn: async ({ signal }) =>
    (await callApi('GET', '/api/v1/model-deployments', { query: { limit: 1 }, signal })).total > 0,
})
