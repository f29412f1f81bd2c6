import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import type {
  Invitation,
  InvitationPreview,
  InviteeRegistration,
  Session,
  SsoAuthorization,
} from '../../../../server/src/contract.ts'
import { callApi } from '../../api/client.ts'
import { enterSession, sessionQuery } from '../../api/session.ts'
import { notifyOtherTabs } from '../../domain/session/other-tabs.ts'

const pathOf = (token: string) => `/v1/invitations/by-token/${encodeURIComponent(token)}`

/** What the invitation of a link is about; a 404 for a link that is unknown or was replaced. */
export const invitationPreviewQuery = (token: string) =>
  queryOptions({
    queryKey: ['invitation-preview', token],
    queryFn: ({ signal }) => callApi<InvitationPreview>('GET', pathOf(token), { signal }),
  })

/** Accepts or declines as the signed-in invitee; accepting changes the organization that one works in. */
export function useAnswerInvitation(token: string, onJoined: () => void) {
  const queryClient = useQueryClient()
  const preview = invitationPreviewQuery(token)
  return useMutation({
    mutationFn: (answer: 'accept' | 'reject') => callApi<Invitation>('POST', `${pathOf(token)}/${answer}`),
    onSuccess: async ({ status }, answer) => {
      if (answer === 'reject') {
        queryClient.setQueryData(preview.queryKey, (before) => before && { ...before, status })
        return
      }
      notifyOtherTabs('switched')
      // The session's role and everything else that was read belong to the other organization.
      queryClient.removeQueries({ type: 'inactive' })
      await queryClient.invalidateQueries(sessionQuery)
      onJoined()
    },
    onError: () => void queryClient.invalidateQueries(preview),
  })
}

/** Accepts with a new account. */
export function useRegisterInvitee(token: string, onJoined: () => void) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (details: Omit<InviteeRegistration, 'token'>) =>
      callApi<Session>('POST', '/v1/invitations/register', { body: { token, ...details } }),
    onSuccess: (session) => {
      enterSession(queryClient, session)
      onJoined()
    },
    // Somebody may have answered it or registered meanwhile.
    onError: () => void queryClient.invalidateQueries(invitationPreviewQuery(token)),
  })
}

/** Leaves for the identity provider; who comes back has accepted. */
export function useInvitationSso(token: string) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (provider: string) =>
      callApi<SsoAuthorization>('POST', `/v1/invitations/sso/${encodeURIComponent(provider)}/start`, {
        body: { token },
      }),
    onSuccess: ({ authorization_url }) => location.assign(authorization_url),
    onError: () => void queryClient.invalidateQueries(invitationPreviewQuery(token)),
  })
}
