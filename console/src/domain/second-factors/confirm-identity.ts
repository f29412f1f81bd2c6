import type { ReauthenticationInput } from '../../contract.ts'
import { callApi } from '../../api/client.ts'
import { signWithPasskey } from './passkeys.ts'

/** The content of the confirmation's field; without a password, the browser asks for a passkey. */
export interface Confirmation {
  password?: string
}

/** The proof for the API. Throws ApiError if the person cancels, or the browser refuses. */
export async function confirmIdentity({ password }: Confirmation): Promise<ReauthenticationInput> {
  if (password !== undefined) return { password }
  const { options } = await callApi('POST', '/v1/user/second-factors/passkeys/challenge')
  return { passkey: await signWithPasskey(options) }
}
