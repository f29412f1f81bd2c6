import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { callApi } from '../../api/client.ts'
import { sessionQuery } from '../../api/session.ts'
import { useToasts } from '../../components/toast.tsx'
import { notifyOtherTabs } from './other-tabs.ts'

/**
 * Signs out, at the identity provider too, clears cached data and opens the sign-in page; with `stay`, the
 * current page remains.
 */
export function useSignOut({ stay = false } = {}) {
  const queryClient = useQueryClient()
  const navigate = useNavigate()
  const toasts = useToasts()
  return useMutation({
    mutationFn: () => callApi('POST', '/v1/user/logout'),
    onSuccess: async ({ logout_url }) => {
      notifyOtherTabs('ended')
      if (logout_url !== undefined && !stay) return location.assign(logout_url)
      const method = queryClient.getQueryData(sessionQuery.queryKey)?.session.auth_method
      queryClient.setQueryData(sessionQuery.queryKey, null)
      const signedOutHere = method !== undefined && method !== 'password'
      if (!stay) await navigate({ to: '/sign-in', state: { signedOutHere } })
      queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0] })
    },
    onError: toasts.error,
  })
}
