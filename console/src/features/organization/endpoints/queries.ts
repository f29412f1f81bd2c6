import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { callApi } from '../../../api/client.ts'
import type { NewEndpointInput } from '../../../contract.ts'

const path = '/api/v1/endpoints'
const onePath = '/api/v1/endpoints/{endpoint_id}'

export const endpointsQuery = queryOptions({
  queryKey: ['organization', 'endpoints'],
  queryFn: ({ signal }) => callApi('GET', path, { signal }),
})

function useReloadEndpoints() {
  const queryClient = useQueryClient()
  return () => void queryClient.invalidateQueries({ queryKey: endpointsQuery.queryKey })
}

export function useAddEndpoint() {
  const reload = useReloadEndpoints()
  return useMutation({
    mutationFn: (body: NewEndpointInput) => callApi('POST', path, { body }),
    onSettled: reload,
  })
}

export function useCheckEndpoint() {
  const reload = useReloadEndpoints()
  return useMutation({
    mutationFn: (id: string) => callApi('POST', `${onePath}/check`, { path: { endpoint_id: id } }),
    onSettled: reload,
  })
}

export function useDeleteEndpoint() {
  const reload = useReloadEndpoints()
  return useMutation({
    mutationFn: (id: string) => callApi('DELETE', onePath, { path: { endpoint_id: id } }),
    onSettled: reload,
  })
}
