import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import type {
  IssuedServiceMember,
  NewServiceMemberInput,
  ServiceMemberUpdateInput,
} from '../../../contract.ts'
import { callApi } from '../../../api/client.ts'
import { membersQuery } from '../../../domain/members/queries.ts'

/** The members that are programs, for `manageMembers`. Changes of members reload it too. */
export const serviceMembersQuery = queryOptions({
  queryKey: [...membersQuery.queryKey, 'services'],
  queryFn: ({ signal }) => callApi('GET', '/v1/organization/service-members', { signal }),
})

function useReloadMembers() {
  const queryClient = useQueryClient()
  return () => queryClient.invalidateQueries({ queryKey: membersQuery.queryKey })
}

/** Adds a service member. Reports its password, sent only once, even after the form has closed. */
export function useAddServiceMember(onIssued: (issued: IssuedServiceMember) => void) {
  const reload = useReloadMembers()
  return useMutation({
    mutationFn: (body: NewServiceMemberInput) =>
      callApi('POST', '/v1/organization/service-members', { body }),
    onSuccess: onIssued,
    onSettled: () => void reload(),
  })
}

/** Changes a service member. */
export function useUpdateServiceMember() {
  const reload = useReloadMembers()
  return useMutation({
    mutationFn: ({ id, changes }: { id: number; changes: ServiceMemberUpdateInput }) =>
      callApi('PATCH', '/v1/organization/service-members/{member_id}', {
        path: { member_id: id },
        body: changes,
      }),
    onSettled: () => void reload(),
  })
}

/** Gives a service member a new password. Reports it even after the dialog has closed. */
export function useRotatePassword(onIssued: (issued: IssuedServiceMember) => void) {
  const reload = useReloadMembers()
  return useMutation({
    mutationFn: ({ id, now }: { id: number; now: boolean }) =>
      callApi('POST', '/v1/organization/service-members/{member_id}/rotate', {
        path: { member_id: id },
        query: { now },
      }),
    onSuccess: onIssued,
    onSettled: () => void reload(),
  })
}
