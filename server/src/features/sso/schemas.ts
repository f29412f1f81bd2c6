import { z } from 'zod'
import { ssoErrorCodes } from './errors.ts'

/** Browsers open these URLs, so a repeated or invalid parameter is ignored instead of rejected. */
const lenientText = z.string().optional().catch(undefined)

export const providerParams = z.object({ sso_provider: z.string() })

export const providersBody = z
  .object({
    providers: z.array(
      z.object({
        name: z.string().describe('Also the `auth_method` of sessions through this provider'),
        display_name: z.string(),
        configured: z.boolean(),
        login_url: z.string().describe('Path of this server that the browser opens to sign in'),
      }),
    ),
  })
  .meta({ id: 'SsoProviders' })

export const loginQuery = z.object({
  return_to: lenientText.describe('Path of this site to return to; any other value is ignored'),
})

export const callbackQuery = z.object({
  code: lenientText,
  state: lenientText,
  iss: lenientText,
  error: lenientText,
})

export const startBody = z
  .object({ token: z.string().describe('The last path segment of the emailed link') })
  .meta({ id: 'InvitationToken' })

export const startedBody = z
  .object({ authorization_url: z.url().describe('URL to open in the browser') })
  .meta({ id: 'SsoAuthorization' })

export const toSignInPage = z
  .null()
  .describe(
    `Redirect to the console, or to \`/sign-in?error=<code>\` if the sign-in failed. Codes: ${ssoErrorCodes.join(', ')}`,
  )

export const toProvider = z
  .null()
  .describe('Redirect to the provider, or to `/sign-in?error=sso_unavailable` if the provider is unreachable')
