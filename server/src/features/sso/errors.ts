import { NotFoundError } from '../../base/errors.ts'

/** Why SSO failed: the `error` query parameter of the sign-in page, which the console explains. */
export const ssoErrorCodes = [
  'sso_flow_expired',
  'sso_denied',
  'sso_failed',
  'sso_unavailable',
  'sso_email_missing',
  'sso_email_unverified',
  'sso_email_in_use',
  'sso_invitation_mismatch',
  'invitation_not_found',
  'invitation_answered',
  'invitation_expired',
  'registration_closed',
  'account_disabled',
] as const

export type SsoErrorCode = (typeof ssoErrorCodes)[number]

/** Ends an SSO sign-in and rolls back the transaction it is thrown in. */
export class SsoRefusal extends Error {
  readonly code: SsoErrorCode
  constructor(code: SsoErrorCode) {
    super(code)
    this.name = new.target.name
    this.code = code
  }
}

export function noIdentity(): NotFoundError {
  return new NotFoundError('Linked identity not found. GET /v1/user/identities lists your linked identities.')
}
