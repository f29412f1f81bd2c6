import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import type {
  Accepted,
  Credentials,
  PasswordReset,
  PasswordResetDone,
  Registration,
  Session,
  SsoProviders,
} from '../../../../server/src/contract.ts'
import { callApi } from '../../api/client.ts'
import { enterSession, sessionQuery } from '../../api/session.ts'
import { toReturnPath } from './return-path.ts'

/** The identity providers that one may sign in through; mostly one or none. */
export const ssoProvidersQuery = queryOptions({
  queryKey: ['sso-providers'],
  queryFn: ({ signal }) => callApi<SsoProviders>('GET', '/v1/sso/providers', { signal }),
  select: ({ providers }) => providers.filter(({ configured }) => configured),
  staleTime: Infinity,
})

/** Leads whoever has a session, as soon as they have it, to where they wanted to go. */
export function useLeadOn(returnTo: string | undefined) {
  const { data: session } = useQuery(sessionQuery)
  const navigate = useNavigate()
  useEffect(() => {
    if (session) void navigate({ href: toReturnPath(returnTo), replace: true })
  }, [session, returnTo, navigate])
}

export function useSignIn() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (credentials: Credentials) =>
      callApi<Session>('POST', '/v1/user/signin', { body: credentials }),
    onSuccess: (session) => enterSession(queryClient, session),
  })
}

export function useRegister() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (registration: Registration) =>
      callApi<Session>('POST', '/v1/user/register', { body: registration }),
    onSuccess: (session) => enterSession(queryClient, session),
  })
}

/** Asks for a reset link: the answer is the same whether or not the address has an account. */
export function useRequestPasswordReset() {
  return useMutation({
    mutationFn: (email: string) =>
      callApi<Accepted>('POST', '/v1/auth/password-reset/request', { body: { email } }),
  })
}

/** Sets the password through a link, which ends every session, one's own here included. */
export function useResetPassword() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (reset: PasswordReset) =>
      callApi<PasswordResetDone>('POST', '/v1/auth/password-reset/confirm', { body: reset }),
    onSuccess: () => {
      queryClient.removeQueries({ type: 'inactive' })
      queryClient.setQueryData(sessionQuery.queryKey, null)
    },
  })
}
