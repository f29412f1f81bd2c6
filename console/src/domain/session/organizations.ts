import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { HandOver, OwnOrganization } from '../../contract.ts'
import { callApi } from '../../api/client.ts'
import { useToasts } from '../../components/toast.tsx'
import { text } from '../../text/index.ts'
import { notifyOtherTabs } from './other-tabs.ts'

/** The organizations of the signed-in person. */
export const organizationsQuery = queryOptions({
  queryKey: ['organizations'],
  queryFn: ({ signal }) => callApi('GET', '/v1/user/organizations', { signal }),
  staleTime: 60_000,
})

/** Switches to another organization of the signed-in person, and opens the list of deployments. */
export function useSwitchOrganization() {
  const open = useOpenOrganization()
  const toasts = useToasts()
  return useMutation({
    mutationFn: (chosen: OwnOrganization) =>
      callApi('PATCH', '/v1/user/profile', { body: { current_organization_id: chosen.id } }),
    onSuccess: async (_session, chosen) => {
      notifyOtherTabs('switched')
      await open()
      toasts.success(text.shell.switchedTo(chosen.name))
    },
    onError: toasts.error,
  })
}

/** Leaves the organization for the next one's deployments. See `HandOver` about active deployments. */
export function useLeaveOrganization() {
  const open = useOpenOrganization()
  return useMutation({
    mutationFn: (handOver: HandOver) => callApi('POST', '/v1/organization/leave', { query: handOver }),
    onSuccess: () => {
      notifyOtherTabs('switched')
      return open()
    },
  })
}

/**
 * Opens the deployments of the current organization. Almost all data belongs to an organization, so data of
 * the previous one must not stay on screen.
 */
export function useOpenOrganization() {
  const queryClient = useQueryClient()
  const navigate = useNavigate()
  return async () => {
    await navigate({ to: '/deployments' })
    await queryClient.resetQueries()
  }
}
