import { queryOptions } from '@tanstack/react-query'
import { callApi } from '../../api/client.ts'

/** The members, in the order in which they joined. */
export const membersQuery = queryOptions({
  queryKey: ['organization', 'members'],
  queryFn: ({ signal }) => callApi('GET', '/v1/organization/members', { signal }),
})
