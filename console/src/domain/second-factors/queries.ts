import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import type {
  NewPasskey,
  PasskeySetup,
  Reauthentication,
  RecoveryCodes,
  SecondFactorAdded,
  SecondFactors,
  TotpConfirmation,
  TotpSetup,
} from '../../../../server/src/contract.ts'
import { callApi } from '../../api/client.ts'
import { sessionQuery } from '../../api/session.ts'
import { createPasskey } from './passkeys.ts'

const path = '/v1/user/second-factors'

/** The person's second factors. */
export const secondFactorsQuery = queryOptions({
  queryKey: ['second-factors'],
  queryFn: ({ signal }) => callApi<SecondFactors>('GET', path, { signal }),
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
    mutationFn: (proof: Reauthentication) => callApi<TotpSetup>('POST', `${path}/totp`, { body: proof }),
  })
}

/** Takes the authenticator app into use. The caller reloads the factors after showing the recovery codes. */
export function useConfirmTotp() {
  return useMutation({
    mutationFn: (confirmation: TotpConfirmation) =>
      callApi<SecondFactorAdded>('POST', `${path}/totp/confirm`, { body: confirmation }),
  })
}

/** Adds a passkey. The caller reloads the factors after showing the recovery codes. */
export function useAddPasskey() {
  return useMutation({
    mutationFn: async ({ name, password }: { name: string; password: string }) => {
      const { options } = await callApi<PasskeySetup>('POST', `${path}/passkeys/start`, {
        body: { password },
      })
      const body: NewPasskey = { name, response: await createPasskey(options) }
      return callApi<SecondFactorAdded>('POST', `${path}/passkeys`, { body })
    },
  })
}

/** Removes the authenticator app, or the passkey with an id. */
export function useRemoveFactor(factor: 'totp' | number) {
  const reload = useReloadFactors()
  const resource = factor === 'totp' ? 'totp' : `passkeys/${factor}`
  return useMutation({
    mutationFn: (proof: Reauthentication) =>
      callApi<undefined>('DELETE', `${path}/${resource}`, { body: proof }),
    onSuccess: reload,
  })
}

export function useRenewRecoveryCodes() {
  return useMutation({
    mutationFn: (proof: Reauthentication) =>
      callApi<RecoveryCodes>('POST', `${path}/recovery-codes`, { body: proof }),
  })
}
