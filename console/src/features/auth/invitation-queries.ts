import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { callApi } from '../../api/client.ts'
import type { Input } from '../../operations.ts'
import { startSession, sessionQuery } from '../../api/session.ts'
import { notifyOtherTabs } from '../../domain/session/other-tabs.ts'

/** The invitation of a link; 404 if the link is unknown or was replaced by a newer one. */
export const invitationPreviewQuery = (token: string) =>
  queryOptions({
    queryKey: ['invitation-preview', token],
    queryFn: ({ signal }) => callApi('GET', '/v1/invitations/by-token/{token}', { path: { token }, signal }),
  })

/** Accepts or declines as the signed-in invitee. Accepting switches the current organization. */
export function useAnswerInvitation(token: string, onJoined: () => void) {
  const queryClient = useQueryClient()
  const preview = invitationPreviewQuery(token)
  return useMutation({
    mutationFn: (answer: 'accept' | 'reject') =>
      callApi('POST', `/v1/invitations/by-token/{token}/${answer}`, { path: { token } }),
    onSuccess: async ({ status }, answer) => {
      if (answer === 'reject') {
        queryClient.setQueryData(preview.queryKey, (before) => before && { ...before, status })
        return
      }
      notifyOtherTabs('switched')
      // Cached data, including the session's role, belongs to the previous organization.
      queryClient.removeQueries({ type: 'inactive' })
      await queryClient.invalidateQueries(sessionQuery)
      onJoined()
    },
    onError: () => void queryClient.invalidateQueries(preview),
  })
}

/** Accepts by creating an account. */
export function useRegisterInvitee(token: string, onJoined: () => void) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (details: Omit<Input<'POST', '/v1/invitations/register'>['body'], 'token'>) =>
      callApi('POST', '/v1/invitations/register', { body: { token, ...details } }),
    onSuccess: (session) => {
      startSession(queryClient, session)
      onJoined()
    },
    // The invitation may have been answered in the meantime.
    onError: () => void queryClient.invalidateQueries(invitationPreviewQuery(token)),
  })
}

/** Opens the identity provider. A successful sign-in there accepts the invitation. */
export function useInvitationSso(token: string) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (provider: string) =>
      callApi('POST', '/v1/invitations/sso/{sso_provider}/start', {
        path: { sso_provider: provider },
        body: { token },
      }),
    onSuccess: ({ authorization_url }) => location.assign(authorization_url),
    onError: () => void queryClient.invalidateQueries(invitationPreviewQuery(token)),
  })
}
