import { queryOptions, useQuery } from '@tanstack/react-query'
import { callApi } from '../../api/client.ts'
import { useSession } from '../../api/session.ts'

/** The signed-in person's pending invitations. */
export const ownInvitationsQuery = queryOptions({
  queryKey: ['own-invitations'],
  queryFn: ({ signal }) => callApi('GET', '/v1/invitations', { signal }),
  select: (invitations) => invitations.filter(({ status }) => status === 'pending'),
})

/** The person's pending invitations. The server shows them only to a verified address. */
export function useOwnInvitations() {
  const { user } = useSession()
  return useQuery({ ...ownInvitationsQuery, enabled: !user.requires_email_verification })
}
