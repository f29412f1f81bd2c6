import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import type { Invitation, Profile, ProfileChanges, Session } from '../../../../server/src/contract.ts'
import { callApi } from '../../api/client.ts'
import { organizationQuery, sessionQuery } from '../../api/session.ts'

/** The signed-in person's profile. */
export const profileQuery = queryOptions({
  queryKey: ['profile'],
  queryFn: ({ signal }) => callApi<Profile>('GET', '/v1/user/profile', { signal }),
})

/** Updates the signed-in person's profile. */
export function useUpdateProfile() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (changes: ProfileChanges) => callApi<Session>('PATCH', '/v1/user/profile', { body: changes }),
    onSuccess: async (session) => {
      queryClient.setQueryData(sessionQuery.queryKey, session)
      await Promise.all(
        [profileQuery, organizationQuery].map(({ queryKey }) => queryClient.invalidateQueries({ queryKey })),
      )
    },
  })
}

/** The signed-in person's pending invitations. */
export const ownInvitationsQuery = queryOptions({
  queryKey: ['own-invitations'],
  queryFn: ({ signal }) => callApi<Invitation[]>('GET', '/v1/invitations', { signal }),
  select: (invitations) => invitations.filter(({ status }) => status === 'pending'),
})

export function useDeclineInvitation() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (id: number) => callApi<Invitation>('POST', `/v1/invitations/${id}/reject`),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ownInvitationsQuery.queryKey }),
  })
}
