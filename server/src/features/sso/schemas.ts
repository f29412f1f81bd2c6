import { z } from 'zod'
import { entityId, exampleToken, pathId, timestamp } from '../../http/schemas.ts'
import type { SsoConfig } from '../../config/sso.ts'
import { ssoErrorCodes } from './errors.ts'
import type { LinkedIdentity } from './store.ts'

/** Browsers open these URLs, so a repeated or invalid parameter is ignored instead of rejected. */
const lenientText = z.string().optional().catch(undefined)

export const providerParams = z.object({
  sso_provider: z.string().describe('Name of the provider, as GET /v1/sso/providers lists it'),
})

export const providersBody = z
  .object({
    providers: z
      .array(
        z.object({
          name: z.string().describe('Also the `auth_method` of sessions through this provider'),
          display_name: z.string().describe('Name for people'),
          configured: z.boolean().describe('Always true'),
          login_url: z.string().describe('Path of this server that the browser opens to sign in'),
        }),
      )
      .describe('Empty when SSO is not configured'),
  })
  .meta({ id: 'SsoProviders', description: 'The identity providers' })

export function toProviderBody({ provider, displayName }: SsoConfig) {
  return {
    name: provider,
    display_name: displayName,
    configured: true,
    login_url: `/v1/sso/login/${provider}`,
  }
}

export const loginQuery = z.object({
  return_to: lenientText.describe('Path of this site to return to; any other value is ignored'),
})

export const callbackQuery = z.object({
  code: lenientText.describe('The authorization code'),
  state: lenientText.describe('The value that the sign-in began with'),
  iss: lenientText.describe('The provider’s issuer'),
  error: lenientText.describe('Why the provider refused'),
})

export const startBody = z
  .object({ token: z.string().describe('The last path segment of the emailed link') })
  .meta({
    id: 'InvitationToken',
    examples: [{ token: exampleToken }],
  })

export const startedBody = z
  .object({ authorization_url: z.url().describe('URL to open in the browser') })
  .meta({ id: 'SsoAuthorization', description: 'Where to sign in' })

export const toSignInPage = z
  .null()
  .describe(
    `Redirect to the console, or to \`/sign-in?error=<code>\` if the sign-in failed. Codes: ${ssoErrorCodes.join(', ')}`,
  )

export const signedOutBody = z
  .object({
    authenticated: z.literal(false).describe('Always false'),
    logout_url: z
      .url()
      .optional()
      .describe(
        'Only after SSO: the page that also ends the session at the identity provider, to open in the browser',
      ),
  })
  .meta({ id: 'SignedOut', description: 'The session has ended' })

export const toProvider = z
  .null()
  .describe('Redirect to the provider, or to `/sign-in?error=sso_unavailable` if the provider is unreachable')

export const identityParams = z.object({
  identity_id: pathId.describe('Id of one of your linked identities'),
})

export const identitiesBody = z
  .array(
    z
      .object({
        id: entityId.describe('For removing the link'),
        provider: z
          .string()
          .nullable()
          .describe('Name of the provider, as GET /v1/sso/providers lists it; null for an earlier one'),
        issuer: z.string().describe('The issuer in the provider’s tokens'),
        subject: z.string().describe('Your id at the provider'),
        linked_at: timestamp.describe('Your first sign-in with this identity'),
      })
      .meta({ id: 'LinkedIdentity', description: 'Your account at an identity provider' }),
  )
  .describe('Your linked identities, earliest first')

export function toIdentityBody({ id, issuer, subject, linked_at }: LinkedIdentity, sso: SsoConfig | null) {
  return {
    id,
    provider: sso !== null && isIssuer(sso, issuer) ? sso.provider : null,
    issuer,
    subject,
    linked_at: linked_at.toISOString(),
  }
}

/** A `URL` without a path ends with a slash, the issuer need not. */
function isIssuer({ issuerUrl }: SsoConfig, issuer: string): boolean {
  return issuerUrl.href.replace(/\/$/, '') === issuer.replace(/\/$/, '')
}

export const logoutBody = z
  .object({ logout_token: z.string().optional().describe('The signed logout token') })
  .meta({ id: 'SsoLogout', examples: [{ logout_token: 'eyJhbGciOiJSUzI1NiJ9…' }] })

export const loggedOut = z.null().describe('The sessions have ended')
