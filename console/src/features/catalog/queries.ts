import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import { callApi } from '../../api/client.ts'
import { modelsQuery } from '../../domain/models/queries.ts'

export const modelQuery = (id: string) =>
  queryOptions({
    queryKey: ['catalog', 'model', id],
    queryFn: ({ signal }) =>
      callApi('GET', '/api/v1/deployable-models/{model_id}', { path: { model_id: id }, signal }),
    staleTime: 60_000,
  })

/** One model of the catalog; uses the entry of the loaded list as a placeholder. */
export const useModel = (id: string) => {
  const queryClient = useQueryClient()
  return useQuery({
    ...modelQuery(id),
    placeholderData: () => queryClient.getQueryData(modelsQuery.queryKey)?.find((model) => model.id === id),
  })
}
