import { queryOptions } from '@tanstack/react-query'
import { callApi } from '../../api/client.ts'

const modelTypes = ['LLM', 'embedding', 'rerank'] as const

/** Every deployable model of all types, in the catalog's order. */
export const modelsQuery = queryOptions({
  queryKey: ['catalog', 'models'],
  queryFn: async ({ signal }) => {
    const lists = await Promise.all(
      modelTypes.map((type) =>
        callApi('GET', '/api/v1/deployable-models', {
          query: { model_type: type },
          signal,
        }),
      ),
    )
    return lists.flatMap(({ items }) => items).toSorted((one, other) => one.sort_order - other.sort_order)
  },
  staleTime: 60_000,
})

/** The instance type, memory and price of every variant of every model. */
export const placementsQuery = queryOptions({
  queryKey: ['catalog', 'placements'],
  queryFn: ({ signal }) => callApi('GET', '/api/v1/placements', { signal }),
  staleTime: 30_000,
})

/** The weights that a deployment here needn't download. */
export const weightsQuery = queryOptions({
  queryKey: ['catalog', 'weights'],
  queryFn: ({ signal }) => callApi('GET', '/api/v1/weights', { signal }),
  staleTime: 30_000,
})
