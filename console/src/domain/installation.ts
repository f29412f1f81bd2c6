import { queryOptions, useQuery } from '@tanstack/react-query'
import { callApi } from '../api/client.ts'

export const installationQuery = queryOptions({
  queryKey: ['installation'],
  queryFn: ({ signal }) => callApi('GET', '/v1/installation', { signal }),
  staleTime: Infinity,
})

/**
 * Whether the server has no mail server, so that emails are files which only its operator can read; false
 * until that is known.
 */
export function useMailIsFile(): boolean {
  return useQuery(installationQuery).data?.mail_delivery === 'file'
}

/** Whether people may sign in with a password; true until that is known. */
export function usePasswordsAllowed(): boolean {
  return useQuery(installationQuery).data?.password_sign_in ?? true
}
