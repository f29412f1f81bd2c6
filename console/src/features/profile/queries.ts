import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { PasswordChangeInput, ProfileUpdateInput } from '../../contract.ts'
import { callApi } from '../../api/client.ts'
import { organizationQuery, sessionQuery } from '../../api/session.ts'
import { confirmIdentity } from '../../domain/second-factors/confirm-identity.ts'
import type { Confirmation } from '../../domain/second-factors/confirm-identity.ts'
import { profileQuery } from '../../domain/session/profile-query.ts'
import { ownInvitationsQuery } from '../../domain/session/invitations-query.ts'
import { sessionsQuery } from '../../domain/session/sessions-query.ts'
import { notifyOtherTabs } from '../../domain/session/other-tabs.ts'

/** Updates the signed-in person's profile. */
export function useUpdateProfile() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (changes: ProfileUpdateInput) => callApi('PATCH', '/v1/user/profile', { body: changes }),
    onSuccess: async (session) => {
      queryClient.setQueryData(sessionQuery.queryKey, session)
      await Promise.all(
        [profileQuery, organizationQuery].map(({ queryKey }) => queryClient.invalidateQueries({ queryKey })),
      )
    },
  })
}

export function useDeclineInvitation() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (id: number) =>
      callApi('POST', '/v1/invitations/{invitation_id}/reject', { path: { invitation_id: id } }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ownInvitationsQuery.queryKey }),
  })
}

/** Changes the password; the person's other sessions end. */
export function useChangePassword() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (change: PasswordChangeInput) => callApi('POST', '/v1/user/password', { body: change }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: sessionsQuery.queryKey }),
  })
}

/** The person's accounts at identity providers. */
export const identitiesQuery = queryOptions({
  queryKey: ['identities'],
  queryFn: ({ signal }) => callApi('GET', '/v1/user/identities', { signal }),
})

/** Unlinks an account at an identity provider after a confirmation; other sessions of the person end. */
export function useUnlinkIdentity(id: number) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: async (confirmation: Confirmation) =>
      callApi('DELETE', '/v1/user/identities/{identity_id}', {
        path: { identity_id: id },
        body: await confirmIdentity(confirmation),
      }),
    // Not awaited: the reload removes the dialog, whose callback must run first.
    onSuccess: () => {
      for (const { queryKey } of [identitiesQuery, sessionsQuery])
        void queryClient.invalidateQueries({ queryKey })
    },
  })
}

/** Ends a session, or all except the current one when the id is null. */
export function useEndSessions() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (id: number | null) =>
      id === null
        ? callApi('DELETE', '/v1/auth/sessions')
        : callApi('DELETE', '/v1/auth/sessions/{session_id}', { path: { session_id: id } }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: sessionsQuery.queryKey }),
  })
}

/** Deletes the account after a confirmation or a recent sign-in through SSO, and opens the sign-in page. */
export function useDeleteAccount() {
  const queryClient = useQueryClient()
  const navigate = useNavigate()
  return useMutation({
    mutationFn: async (confirmation: Confirmation | null) =>
      callApi('DELETE', '/v1/user', {
        body: confirmation === null ? {} : await confirmIdentity(confirmation),
      }),
    onSuccess: async () => {
      notifyOtherTabs('ended')
      queryClient.setQueryData(sessionQuery.queryKey, null)
      await navigate({ to: '/sign-in', state: { accountDeleted: true } })
      queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0] })
    },
  })
}
