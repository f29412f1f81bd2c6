import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import type { NewPasskeyInput, ReauthenticationInput, TotpConfirmationInput } from '../../contract.ts'
import { callApi } from '../../api/client.ts'
import { sessionQuery } from '../../api/session.ts'
import { createPasskey } from './passkeys.ts'

/** The person's second factors. */
export const secondFactorsQuery = queryOptions({
  queryKey: ['second-factors'],
  queryFn: ({ signal }) => callApi('GET', '/v1/user/second-factors', { signal }),
})

/** Returns a function that reloads everything that a change of the second factors affects. */
export function useReloadFactors() {
  const queryClient = useQueryClient()
  return () =>
    Promise.all(
      [secondFactorsQuery.queryKey, sessionQuery.queryKey, ['sessions']].map((queryKey) =>
        queryClient.invalidateQueries({ queryKey }),
      ),
    )
}

/** Begins the set-up of an authenticator app. */
export function useStartTotp() {
  return useMutation({
    mutationFn: (proof: ReauthenticationInput) =>
      callApi('POST', '/v1/user/second-factors/totp', { body: proof }),
  })
}

/** Takes the authenticator app into use. The caller reloads the factors after showing the recovery codes. */
export function useConfirmTotp() {
  return useMutation({
    mutationFn: (confirmation: TotpConfirmationInput) =>
      callApi('POST', '/v1/user/second-factors/totp/confirm', { body: confirmation }),
  })
}

/** Adds a passkey. The caller reloads the factors after showing the recovery codes. */
export function useAddPasskey() {
  return useMutation({
    mutationFn: async ({ name, password }: { name: string; password: string }) => {
      const { options } = await callApi('POST', '/v1/user/second-factors/passkeys/start', {
        body: { password },
      })
      const body: NewPasskeyInput = { name, response: await createPasskey(options) }
      return callApi('POST', '/v1/user/second-factors/passkeys', { body })
    },
  })
}

/** Removes the authenticator app, or the passkey with an id. */
export function useRemoveFactor(factor: 'totp' | number) {
  const reload = useReloadFactors()
  return useMutation({
    mutationFn: (proof: ReauthenticationInput) =>
      factor === 'totp'
        ? callApi('DELETE', '/v1/user/second-factors/totp', { body: proof })
        : callApi('DELETE', '/v1/user/second-factors/passkeys/{passkey_id}', {
            path: { passkey_id: factor },
            body: proof,
          }),
    onSuccess: reload,
  })
}

export function useRenewRecoveryCodes() {
  return useMutation({
    mutationFn: (proof: ReauthenticationInput) =>
      callApi('POST', '/v1/user/second-factors/recovery-codes', { body: proof }),
  })
}
