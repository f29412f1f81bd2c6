import { queryOptions } from '@tanstack/react-query'
import { callApi } from '../../api/client.ts'

/** The teams of the current organization: all for admins, the reader's own otherwise. */
export const teamsQuery = queryOptions({
  queryKey: ['organization', 'teams'],
  queryFn: ({ signal }) => callApi('GET', '/v1/organization/teams', { signal }),
})
