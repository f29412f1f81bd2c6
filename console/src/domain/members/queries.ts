import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { callApi } from '../../api/client.ts'
import type { PeopleQuery } from '../../contract.ts'

/** The members, in the order in which they joined. */
export const membersQuery = queryOptions({
  queryKey: ['organization', 'members'],
  queryFn: ({ signal }) => callApi('GET', '/v1/organization/members', { signal }),
})

/** A part of the people, programs and open invitations. Changes of members reload it too. */
export const peopleQuery = (query: PeopleQuery) =>
  queryOptions({
    queryKey: [...membersQuery.queryKey, 'people', query],
    queryFn: ({ signal }) => callApi('GET', '/v1/organization/people', { query, signal }),
    placeholderData: keepPreviousData,
  })
