import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import type {
  HandOver,
  InvitationRequestInput,
  MemberUpdateInput,
  OrganizationUpdateInput,
} from '../../contract.ts'
import { callApi } from '../../api/client.ts'
import { organizationQuery, sessionQuery } from '../../api/session.ts'
import { membersQuery } from '../../domain/members/queries.ts'

/** The organization's invitations, newest first; requires the `manageInvitations` permission. */
export const invitationsQuery = queryOptions({
  queryKey: ['organization', 'invitations'],
  queryFn: ({ signal }) => callApi('GET', '/v1/organization/invitations', { signal }),
  // Sending an email takes a second or two; the invitee may answer at any time.
  refetchInterval: ({ state }) =>
    state.data?.some(({ status, email_status }) => status === 'pending' && email_status === 'pending')
      ? 2_000
      : 30_000,
})

export function useUpdateOrganization() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (changes: OrganizationUpdateInput) => callApi('PATCH', '/v1/organization', { body: changes }),
    onSuccess: (organization) => {
      queryClient.setQueryData(organizationQuery.queryKey, organization)
      // The list of organizations and the session contain the name too.
      void queryClient.invalidateQueries({ queryKey: ['organizations'] })
      void queryClient.invalidateQueries({ queryKey: sessionQuery.queryKey })
    },
  })
}

export function useInvite() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (invitation: InvitationRequestInput) =>
      callApi('POST', '/v1/organization/invitations', { body: invitation }),
    onSuccess: (invitation) => {
      queryClient.setQueryData(invitationsQuery.queryKey, (before) => before && [invitation, ...before])
      void queryClient.invalidateQueries({ queryKey: membersQuery.queryKey })
    },
    // The error may refer to an invitation that the cached list does not have yet.
    onError: () => void queryClient.invalidateQueries({ queryKey: invitationsQuery.queryKey }),
  })
}

/** Resends a pending invitation with a new link; the server allows it once per minute. */
export function useResendInvitation() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (id: number) =>
      callApi('POST', '/v1/organization/invitations/{invitation_id}/resend', { path: { invitation_id: id } }),
    onSuccess: (invitation) =>
      queryClient.setQueryData(invitationsQuery.queryKey, (before) =>
        before?.map((known) => (known.id === invitation.id ? invitation : known)),
      ),
    onError: () => void queryClient.invalidateQueries({ queryKey: invitationsQuery.queryKey }),
  })
}

/** Returns the link of a pending invitation. Only a server without a mail server reveals it. */
export const readInvitationLink = (id: number) =>
  callApi('POST', '/v1/organization/invitations/{invitation_id}/link', { path: { invitation_id: id } })

export function useUpdateRole() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: ({ id, role }: { id: number } & MemberUpdateInput) =>
      callApi('PATCH', '/v1/organization/members/{member_id}', { path: { member_id: id }, body: { role } }),
    // If the caller's own role changed, so did their permissions.
    onSettled: () =>
      Promise.all([
        queryClient.invalidateQueries({ queryKey: organizationQuery.queryKey }),
        queryClient.invalidateQueries({ queryKey: sessionQuery.queryKey }),
      ]),
  })
}

export function useRemoveMember() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: ({ id, handOver }: { id: number; handOver: HandOver }) =>
      callApi('DELETE', '/v1/organization/members/{member_id}', { path: { member_id: id }, query: handOver }),
    // Not awaited: the member's row takes the dialog with it, which says first that the member was removed.
    onSuccess: () => void queryClient.invalidateQueries({ queryKey: membersQuery.queryKey }),
  })
}

/** Cancels an unanswered invitation. */
export function useCancelInvitation() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (id: number) =>
      callApi('DELETE', '/v1/organization/invitations/{invitation_id}', { path: { invitation_id: id } }),
    // Not awaited: the refreshed row has no button, which says first that the invitation was cancelled.
    onSettled() {
      void queryClient.invalidateQueries({ queryKey: invitationsQuery.queryKey })
      void queryClient.invalidateQueries({ queryKey: membersQuery.queryKey })
    },
  })
}
