import { queryOptions } from '@tanstack/react-query'
import { callApi } from '../../api/client.ts'

/** The signed-in person's profile. */
export const profileQuery = queryOptions({
  queryKey: ['profile'],
  queryFn: ({ signal }) => callApi('GET', '/v1/user/profile', { signal }),
})
