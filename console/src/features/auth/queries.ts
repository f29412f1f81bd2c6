import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import type {
  Credentials,
  PasswordReset,
  PasswordResetDone,
  ProfileChanges,
  Registration,
  Session,
} from '../../../../server/src/contract.ts'
import { callApi } from '../../api/client.ts'
import { enterSession, organizationQuery, sessionQuery } from '../../api/session.ts'
import { toReturnPath } from './return-path.ts'

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

/** Adds the missing name and organization to an account created through an identity provider. */
export function useCompleteProfile() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (details: { name: string; organization: string }) =>
      callApi<Session>('PATCH', '/v1/user/profile', { body: details satisfies ProfileChanges }),
    onSuccess: (session) => {
      queryClient.setQueryData(sessionQuery.queryKey, session)
      return queryClient.invalidateQueries({ queryKey: organizationQuery.queryKey })
    },
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
