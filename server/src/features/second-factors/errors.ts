import { ApplicationError } from '../../base/errors.ts'
import type { FactorMethod } from './store.ts'

/** The codes with which `reauthenticate` refuses a proof, for the routes that ask for one. */
export const reauthenticationErrors = [
  'rate_limited',
  'invalid_credentials',
  'no_password',
  'invalid_code',
  'invalid_passkey',
  'second_factor_unreadable',
] as const

export function invalidCode(): ApplicationError {
  const message = 'This code is wrong or was already used. Enter the code that your app shows now.'
  return new ApplicationError('invalid_code', message)
}

export function invalidPasskey(): ApplicationError {
  const message = 'The passkey was not accepted. Try again.'
  return new ApplicationError('invalid_passkey', message)
}

/** Whether a presented factor was wrong. */
export function isInvalidFactor(error: unknown): error is ApplicationError {
  return error instanceof ApplicationError && ['invalid_code', 'invalid_passkey'].includes(error.code)
}

/** The SECRET_KEY is not the one that the secret was encrypted with. */
export function unreadableSecret(): ApplicationError {
  const message =
    'This server lost the key of your authenticator app. Use a recovery code, or ask its operator to reset your second factor.'
  return new ApplicationError('second_factor_unreadable', message)
}

/** The password was right, and the sign-in needs one of the methods in addition. */
export function secondFactorRequired(
  methods: readonly FactorMethod[],
  passkeyOptions?: object,
): ApplicationError {
  const message = 'Enter the code of your authenticator app or a recovery code, or use a passkey.'
  const facts = { second_factors: methods, ...(passkeyOptions && { passkey_options: passkeyOptions }) }
  return new ApplicationError('second_factor_required', message, { facts })
}

export function isFactorRequired(error: unknown): boolean {
  return error instanceof ApplicationError && error.code === 'second_factor_required'
}

export function noPasskey(): ApplicationError {
  const message = 'This account has no passkey. Confirm with the password or a code.'
  return new ApplicationError('no_second_factor', message)
}

export function noSecondFactor(): ApplicationError {
  const message = 'This account has no second factor.'
  return new ApplicationError('no_second_factor', message)
}
