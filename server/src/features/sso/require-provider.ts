import { NotFoundError } from '../../base/errors.ts'
import type { IdentityProvider } from '../../ports/identity-provider.ts'
import type { Services } from '../../services.ts'

/** The configured provider, if this is its name. Throws `not_found`. */
export function requireProvider(
  { config, identityProvider }: Pick<Services, 'config' | 'identityProvider'>,
  name: string,
): IdentityProvider {
  if (identityProvider === null || name !== config.sso?.provider) {
    throw new NotFoundError(
      'Sign-in provider not found. GET /v1/sso/providers lists the configured providers.',
    )
  }
  return identityProvider
}
