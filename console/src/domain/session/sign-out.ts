import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { callApi } from '../../api/client.ts'
import { sessionQuery } from '../../api/session.ts'
import { useToasts } from '../../components/toast.tsx'
import { notifyOtherTabs } from './other-tabs.ts'

/** Signs out, clears cached data and opens the sign-in page; with `stay`, the current page remains. */
export function useSignOut({ stay = false } = {}) {
  const queryClient = useQueryClient()
  const navigate = useNavigate()
  const toasts = useToasts()
  return useMutation({
    mutationFn: () => callApi('POST', '/v1/user/logout'),
    onSuccess: async () => {
      notifyOtherTabs('ended')
      queryClient.setQueryData(sessionQuery.queryKey, null)
      if (!stay) await navigate({ to: '/sign-in' })
      queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0] })
    },
    onError: toasts.error,
  })
}
