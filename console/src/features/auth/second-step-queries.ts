import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useRef } from 'react'
import type { CredentialsInput } from '../../contract.ts'
import { ApiError, callApi } from '../../api/client.ts'
import { startSession } from '../../api/session.ts'
import { signWithPasskey } from '../../domain/second-factors/passkeys.ts'

/** The server's response to a right password of an account with a second factor. */
export interface FactorDemand {
  credentials: CredentialsInput
  /** `passkey`, `totp` and `recovery_code`, as far as the account has them */
  methods: readonly string[]
  passkeyOptions: Record<string, unknown> | undefined
}

/** Reads what the server demands after the password; null for another error. */
export function readFactorDemand(error: unknown, credentials: CredentialsInput): FactorDemand | null {
  if (!(error instanceof ApiError) || error.code !== 'second_factor_required') return null
  const { second_factors: methods = [], passkey_options: passkeyOptions } = error.facts
  return { credentials, methods, passkeyOptions }
}

/** Signs in with a passkey. A challenge works once, so each further attempt requests another. */
export function useSignInWithPasskey({ credentials, passkeyOptions }: FactorDemand) {
  const queryClient = useQueryClient()
  const unused = useRef(passkeyOptions)
  return useMutation({
    mutationFn: async () => {
      const options = unused.current ?? (await requestOptions(credentials))
      unused.current = undefined
      const passkey = await signWithPasskey(options ?? {})
      return callApi('POST', '/v1/user/signin', { body: { ...credentials, passkey } })
    },
    onSuccess: (session) => startSession(queryClient, session),
  })
}

async function requestOptions(credentials: CredentialsInput) {
  try {
    await callApi('POST', '/v1/user/signin', { body: credentials })
  } catch (error) {
    const demand = readFactorDemand(error, credentials)
    if (demand) return demand.passkeyOptions
    throw error
  }
  return undefined
}
