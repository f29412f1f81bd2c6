import { queryOptions, useMutation } from '@tanstack/react-query'
import { callApi } from '../../api/client.ts'

/** The configured identity providers. */
export const ssoProvidersQuery = queryOptions({
  queryKey: ['sso-providers'],
  queryFn: ({ signal }) => callApi('GET', '/v1/sso/providers', { signal }),
  select: ({ providers }) => providers.filter(({ configured }) => configured),
  staleTime: Infinity,
})

/** Requests a password reset email. The response does not reveal whether the address has an account. */
export function useRequestPasswordReset() {
  return useMutation({
    mutationFn: (email: string) => callApi('POST', '/v1/auth/password-reset/request', { body: { email } }),
  })
}
