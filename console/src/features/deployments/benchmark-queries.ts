import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { callApi } from '../../api/client.ts'
import type { operations } from '../../contract.ts'
import { toInput } from '../../domain/deployments/reference.ts'

type Body = NonNullable<operations['startBenchmark']['requestBody']>['content']['application/json']

const path = '/api/v1/model-deployments/{deployment_id}/benchmarks'
const keyOf = (id: string) => ['deployments', 'benchmarks', id]

/** The benchmarks of a deployment, newest first; asked again while one runs. */
export const benchmarksQuery = (id: string) =>
  queryOptions({
    queryKey: keyOf(id),
    queryFn: ({ signal }) => callApi('GET', path, { ...toInput(id), signal }),
    refetchInterval: ({ state }) => (state.data?.items[0]?.status === 'running' ? 1_000 : false),
  })

export function useStartBenchmark(id: string) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (body: Body) => callApi('POST', path, { ...toInput(id), body }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: keyOf(id) }),
  })
}

export function useStopBenchmark(id: string) {
  const queryClient = useQueryClient()
  const { path: own, query } = toInput(id)
  return useMutation({
    mutationFn: (number: number) =>
      callApi('DELETE', `${path}/{number}`, { path: { ...own, number }, query }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: keyOf(id) }),
  })
}
