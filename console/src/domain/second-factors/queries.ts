import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import type { NewPasskeyInput, TotpVerificationInput } from '../../contract.ts'
import { callApi } from '../../api/client.ts'
import { sessionQuery } from '../../api/session.ts'
import { sessionsQuery } from '../session/sessions-query.ts'
import { confirmIdentity } from './confirm-identity.ts'
import type { Confirmation } from './confirm-identity.ts'
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
      [secondFactorsQuery.queryKey, sessionQuery.queryKey, sessionsQuery.queryKey].map((queryKey) =>
        queryClient.invalidateQueries({ queryKey }),
      ),
    )
}

/** Starts the setup of an authenticator app. */
export function useStartTotp() {
  return useMutation({
    mutationFn: async (confirmation: Confirmation) =>
      callApi('POST', '/v1/user/second-factors/totp', { body: await confirmIdentity(confirmation) }),
  })
}

/** Shows the recovery codes of a first factor, which the server sends once, and reloads the factors. */
export type OnFactorAdded = (recoveryCodes: string[] | null) => void

/** Takes the authenticator app into use. Reports it even after the form has closed. */
export function useVerifyTotp(onAdded: OnFactorAdded) {
  return useMutation({
    mutationFn: (body: TotpVerificationInput) =>
      callApi('POST', '/v1/user/second-factors/totp/verify', { body }),
    onSuccess: (added) => onAdded(added.recovery_codes),
  })
}

/** Adds a passkey. Reports it even after the form has closed. */
export function useAddPasskey(onAdded: OnFactorAdded) {
  return useMutation({
    mutationFn: async ({ name, ...confirmation }: { name: string } & Confirmation) => {
      const { options } = await callApi('POST', '/v1/user/second-factors/passkeys/start', {
        body: await confirmIdentity(confirmation),
      })
      const body: NewPasskeyInput = { name, response: await createPasskey(options) }
      return callApi('POST', '/v1/user/second-factors/passkeys', { body })
    },
    onSuccess: (added) => onAdded(added.recovery_codes),
  })
}

/** Removes the authenticator app, or the passkey with an id. */
export function useRemoveFactor(factor: 'totp' | number) {
  const reload = useReloadFactors()
  return useMutation({
    mutationFn: async (confirmation: Confirmation) => {
      const body = await confirmIdentity(confirmation)
      return factor === 'totp'
        ? callApi('DELETE', '/v1/user/second-factors/totp', { body })
        : callApi('DELETE', '/v1/user/second-factors/passkeys/{passkey_id}', {
            path: { passkey_id: factor },
            body,
          })
    },
    onSuccess: reload,
  })
}

/** Replaces the recovery codes. Reports the new ones even after the form has closed. */
export function useRotateRecoveryCodes(onRotated: OnFactorAdded) {
  return useMutation({
    mutationFn: async (confirmation: Confirmation) =>
      callApi('POST', '/v1/user/second-factors/recovery-codes', {
        body: await confirmIdentity(confirmation),
      }),
    onSuccess: (rotated) => onRotated(rotated.recovery_codes),
  })
}
