import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import type {
  CredentialsInput,
  EmailVerificationInput,
  PasswordResetInput,
  ProfileUpdateInput,
  RegistrationInput,
} from '../../contract.ts'
import { callApi } from '../../api/client.ts'
import { startSession, organizationQuery, sessionQuery } from '../../api/session.ts'
import { installationQuery } from '../../domain/installation.ts'
import { toReturnPath } from './return-path.ts'

/** Redirects to the return path as soon as a session exists. */
export function useLeaveWithSession(returnTo: string | undefined) {
  const { data: session } = useQuery(sessionQuery)
  const navigate = useNavigate()
  useEffect(() => {
    if (session) void navigate({ href: toReturnPath(returnTo), replace: true })
  }, [session, returnTo, navigate])
}

export function useSignIn() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (credentials: CredentialsInput) => callApi('POST', '/v1/user/signin', { body: credentials }),
    onSuccess: (session) => startSession(queryClient, session),
  })
}

export function useRegister() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (registration: RegistrationInput) =>
      callApi('POST', '/v1/user/register', { body: registration }),
    onSuccess: (session) => {
      void queryClient.invalidateQueries({ queryKey: installationQuery.queryKey })
      return startSession(queryClient, session)
    },
  })
}

/** Adds the missing name and organization to an account created through an identity provider. */
export function useCompleteProfile() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (details: { name: string; organization: string }) =>
      callApi('PATCH', '/v1/user/profile', { body: details satisfies ProfileUpdateInput }),
    onSuccess: (session) => {
      queryClient.setQueryData(sessionQuery.queryKey, session)
      return queryClient.invalidateQueries({ queryKey: organizationQuery.queryKey })
    },
  })
}

/** Sets a new password with the token of a reset link. The server ends every session of the account. */
export function useResetPassword() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (reset: PasswordResetInput) =>
      callApi('POST', '/v1/auth/password-reset/confirm', { body: reset }),
    onSuccess: () => {
      queryClient.removeQueries({ type: 'inactive' })
      queryClient.setQueryData(sessionQuery.queryKey, null)
    },
  })
}

/** Verifies the address of the signed-in person with the token of an emailed link. */
export function useVerifyEmail() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (verification: EmailVerificationInput) =>
      callApi('POST', '/v1/user/email-verification/confirm', { body: verification }),
    onSuccess: () => queryClient.invalidateQueries(),
  })
}
