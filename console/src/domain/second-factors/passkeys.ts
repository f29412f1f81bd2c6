import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/browser'
import type { CredentialsInput, NewPasskeyInput } from '../../contract.ts'
import { ApiError } from '../../api/client.ts'
import { text } from '../../text/index.ts'

/** Whether this browser has passkeys; it offers them only over TLS and on localhost. */
export const supportsPasskeys = () => 'PublicKeyCredential' in window

/** Asks the browser for a new passkey. Throws ApiError if the person cancels, or the browser refuses. */
export function createPasskey(options: Record<string, unknown>): Promise<NewPasskeyInput['response']> {
  return ask(async () => {
    const { startRegistration } = await load()
    const optionsJSON = options as unknown as PublicKeyCredentialCreationOptionsJSON
    return (await startRegistration({ optionsJSON })) as NewPasskeyInput['response']
  })
}

/** Signs with a passkey. Throws ApiError if the person cancels or the browser refuses. */
export function signWithPasskey(
  options: Record<string, unknown>,
): Promise<NonNullable<CredentialsInput['passkey']>> {
  return ask(async () => {
    const { startAuthentication } = await load()
    const optionsJSON = options as unknown as PublicKeyCredentialRequestOptionsJSON
    return (await startAuthentication({ optionsJSON })) as NonNullable<CredentialsInput['passkey']>
  })
}

const load = () => import('@simplewebauthn/browser')

async function ask<Answer>(work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work()
  } catch (error) {
    const isKnown = error instanceof Error && error.name === 'InvalidStateError'
    const detail = isKnown ? text.secondFactors.passkeyKnown : text.secondFactors.passkeyFailed
    throw new ApiError({ status: 0, code: 'passkey_failed', detail })
  }
}
