import { z } from 'zod'
import { ssoErrorCodes } from './errors.ts'

/** Addresses that browsers open take any query: what is given twice or unreadably counts as not given. */
const lenientText = z.string().optional().catch(undefined)

export const providerParams = z.object({ sso_provider: z.string() })

export const providersBody = z
  .object({
    providers: z.array(
      z.object({
        name: z.string().describe('The `auth_method` of its sessions'),
        display_name: z.string(),
        configured: z.boolean(),
        login_url: z.string().describe('A path of this server for the browser to open'),
      }),
    ),
  })
  .meta({ id: 'SsoProviders' })

export const loginQuery = z.object({
  return_to: lenientText.describe('Path of this site to come back to; anything else is ignored'),
})

export const callbackQuery = z.object({
  code: lenientText,
  state: lenientText,
  iss: lenientText,
  error: lenientText,
})

export const startBody = z
  .object({ token: z.string().describe('The last part of the link in the mail') })
  .meta({ id: 'InvitationToken' })

export const startedBody = z
  .object({ authorization_url: z.url().describe('Where to send the browser') })
  .meta({ id: 'SsoAuthorization' })

export const toSignInPage = z
  .null()
  .describe(
    `To the console; to \`/sign-in?error=<code>\` when it came to nothing: ${ssoErrorCodes.join(', ')}`,
  )

export const toProvider = z
  .null()
  .describe('To the provider; to `/sign-in?error=sso_unavailable` when it can’t be reached')
