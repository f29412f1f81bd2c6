import { queryOptions, useQuery } from '@tanstack/react-query'
import type { Installation } from '../../../server/src/contract.ts'
import { callApi } from '../api/client.ts'

const installationQuery = queryOptions({
  queryKey: ['installation'],
  queryFn: ({ signal }) => callApi<Installation>('GET', '/v1/installation', { signal }),
  staleTime: Infinity,
})

/** Whether the server has no mail server, so that emails are files which only its operator can read; false until that is known. */
export function useMailIsFile(): boolean {
  return useQuery(installationQuery).data?.mail_delivery === 'file'
}
