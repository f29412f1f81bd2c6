import { ApplicationError } from '../../../base/errors.ts'
import type { Services } from '../../../services.ts'

/** Throws a 422 for a return URL on neither our own site nor a trusted one, to prevent open redirects. */
export function assertReturnUrl(
  { publicUrl, csrfTrustedOrigins }: Services['config'],
  address?: string,
): void {
  if (address === undefined) return
  const { origin, username, password } = new URL(address)
  const origins = [publicUrl.origin, ...csrfTrustedOrigins]
  if (origins.includes(origin) && username === '' && password === '') return
  const message = `Use a URL that begins with ${origins.join(' or ')}.`
  const errors = [{ location: 'body', field: 'return_url', message, code: 'invalid_value' }]
  throw new ApplicationError('validation_failed', `return_url: ${message}`, { facts: { errors } })
}
