import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type {
  DeployableModelUpdateInput,
  DeployableModelImportInput,
  ModelInspectionRequestInput,
} from '../../../contract.ts'
import { callApi } from '../../../api/client.ts'

/** Reads a repository or an upload; nothing is stored. */
export const useInspectModel = () =>
  useMutation({
    mutationFn: (body: ModelInspectionRequestInput) =>
      callApi('POST', '/api/v1/deployable-models/inspect', { body }),
  })

const uploadsKey = ['model-uploads']

/** The uploads of the organization that are no model yet, for those who may add models. */
export const useUploads = (enabled: boolean) =>
  useQuery({ queryKey: uploadsKey, queryFn: () => callApi('GET', '/api/v1/model-uploads'), enabled })

export function useDeleteUpload() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: async (id: string) => (await import('./tus-client.ts')).deleteUpload(id),
    onSettled: () => queryClient.invalidateQueries({ queryKey: uploadsKey }),
  })
}

function useRefreshCatalog() {
  const queryClient = useQueryClient()
  return () => queryClient.invalidateQueries({ queryKey: ['catalog'] })
}

export function useImportModel() {
  const onSuccess = useRefreshCatalog()
  return useMutation({
    mutationFn: (body: DeployableModelImportInput) => callApi('POST', '/api/v1/deployable-models', { body }),
    onSuccess,
  })
}

export function useUpdateModel(id: string) {
  const onSuccess = useRefreshCatalog()
  return useMutation({
    mutationFn: (body: DeployableModelUpdateInput) =>
      callApi('PATCH', '/api/v1/deployable-models/{model_id}', { path: { model_id: id }, body }),
    onSuccess,
  })
}

export function useDeleteModel() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (id: string) =>
      callApi('DELETE', '/api/v1/deployable-models/{model_id}', { path: { model_id: id } }),
    // The page of the model is still open, and must not ask for it again.
    onSuccess: (_answer, id) =>
      queryClient.invalidateQueries({
        queryKey: ['catalog'],
        predicate: ({ queryKey }) => !queryKey.includes(id),
      }),
  })
}
