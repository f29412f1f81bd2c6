import { useMutation, useQueryClient } from '@tanstack/react-query'
import { callApi } from '../../api/client.ts'
import { useToasts } from '../../components/toast.tsx'
import { toInput } from '../../domain/deployments/reference.ts'
import { showChange } from './queries.ts'

/** Puts a deployment to sleep, or wakes it. Shows an error even if the control, as in a menu, has closed. */
export function useSleepOrWake() {
  const queryClient = useQueryClient()
  const toasts = useToasts()
  return useMutation({
    mutationFn: ({ id, act }: { id: string; act: 'sleep' | 'wake' }) =>
      callApi('POST', `/api/v1/model-deployments/{deployment_id}/${act}`, toInput(id)),
    onSuccess: (deployment) => showChange(queryClient, deployment),
    onError(error) {
      toasts.error(error)
      // It may have started or ended meanwhile.
      void queryClient.invalidateQueries({ queryKey: ['deployments'] })
    },
  })
}
