import { ApplicationError } from '../../base/errors.ts'

/** The same for an unknown email and a wrong password, to hide which emails have accounts. */
export function invalidCredentials(): ApplicationError {
  return new ApplicationError('invalid_credentials', 'Invalid email or password.')
}

/** The error for an emailed link that is unknown, used, replaced or expired. */
export function invalidToken(): ApplicationError {
  const message =
    'This link has expired, was already used, or was replaced by a newer one. Request a new link.'
  return new ApplicationError('invalid_or_expired_token', message)
}
