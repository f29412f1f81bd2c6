import { queryOptions } from '@tanstack/react-query'
import { callApi } from '../../api/client.ts'

/** The person's active sessions, latest use first. */
export const sessionsQuery = queryOptions({
  queryKey: ['sessions'],
  queryFn: ({ signal }) => callApi('GET', '/v1/auth/sessions', { signal }),
})
