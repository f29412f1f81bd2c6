import { queryOptions, useQuery } from '@tanstack/react-query'
import { callApi } from '../api/client.ts'

export const installationQuery = queryOptions({
  queryKey: ['installation'],
  // The shell needs it, so a part that goes away while it loads must not abort it.
  queryFn: () => callApi('GET', '/v1/installation'),
  staleTime: Infinity,
})

/** True once it is known that emails are files for the operator, because the server has no mail server. */
export function useMailIsFile(): boolean {
  return useQuery(installationQuery).data?.mail_delivery === 'file'
}

/** Whether admins may upload model files; true until that is known. */
export function useUploadsAllowed(): boolean {
  return useQuery(installationQuery).data?.model_uploads ?? true
}

/** Whether organizations pay; true until that is known. */
export function usePaysHere(): boolean {
  return useQuery(installationQuery).data?.billing ?? true
}

/** Whether people may sign in with a password; true until that is known. */
export function usePasswordsAllowed(): boolean {
  return useQuery(installationQuery).data?.password_sign_in ?? true
}

/** How often the page asks whether the database still is a copy, in milliseconds. */
const copyInterval = 30_000

/** True while the database is a copy that waits for the operator's decision. */
export function useIsCopy(): boolean {
  const { data } = useQuery({
    ...installationQuery,
    refetchInterval: ({ state }) => state.data?.is_copy === true && copyInterval,
  })
  return data?.is_copy === true
}
