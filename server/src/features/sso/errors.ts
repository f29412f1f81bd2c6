/** Why a sign-in through a provider came to nothing: the `error` of the sign-in page, stable words for the console. */
export const ssoErrorCodes = [
  'sso_flow_expired',
  'sso_denied',
  'sso_failed',
  'sso_unavailable',
  'sso_email_unverified',
  'sso_invitation_mismatch',
  'invitation_not_found',
  'invitation_answered',
  'invitation_expired',
] as const

export type SsoErrorCode = (typeof ssoErrorCodes)[number]

/** Ends a sign-in through a provider, and the transaction it is thrown in. */
export class SsoRefusal extends Error {
  readonly code: SsoErrorCode
  constructor(code: SsoErrorCode) {
    super(code)
    this.name = new.target.name
    this.code = code
  }
}
