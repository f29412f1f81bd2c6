import { ApplicationError } from '../base/errors.ts'

/** The 413 for a body above the limit of its route. */
export function bodyTooLarge(limit: number): ApplicationError {
  const message = `The request body is too large: it may have at most ${limit.toLocaleString('en-US')} bytes.`
  return new ApplicationError('body_too_large', message)
}
