import { z } from 'zod'
import { optionalText, webAddress } from './values.ts'

/** An OpenID Connect provider through which people may sign in. */
export interface SsoConfig {
  /** A slug: part of the routes' addresses and the `auth_method` of the sessions */
  provider: string
  /** What the sign-in page calls it */
  displayName: string
  /** The issuer as its discovery document names it; plain http on loopback alone */
  issuerUrl: URL
  clientId: string
  clientSecret: string
  /** Divided by spaces; `openid` is among them */
  scopes: string
}

const loopbackHost = /^(localhost|127(\.\d+){3}|\[::1\])$/

/** The settings of sign-in through a provider. */
export const ssoSettings = {
  SSO_PROVIDER: z
    .string()
    .trim()
    .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'give a short name of a-z, 0-9 and single dashes such as oidc')
    .max(63, 'give at most 63 characters')
    .refine(
      (name) => name !== 'password',
      'this name stands for sessions that began with a password; give another',
    )
    .default('oidc'),
  SSO_DISPLAY_NAME: z.string().trim().max(255, 'give at most 255 characters').default('Single sign-on'),
  OIDC_ISSUER_URL: webAddress('https://login.example.com')
    .refine(
      ({ protocol, hostname }) => protocol === 'https:' || loopbackHost.test(hostname),
      'give an https address; plain http is for a provider on this machine alone',
    )
    .optional(),
  OIDC_CLIENT_ID: optionalText,
  OIDC_CLIENT_SECRET: optionalText,
  OIDC_SCOPES: z
    .string()
    .transform((text) => text.trim().split(/\s+/).join(' '))
    .refine((text) => text.split(' ').includes('openid'), 'give scopes divided by spaces, openid among them')
    .default('openid email profile'),
}

type Settings = z.output<z.ZodObject<typeof ssoSettings>>

/** The provider's settings, or null when none of them is given; a part of them is a problem. */
export function readSso(settings: Settings, problems: string[]): SsoConfig | null {
  const { OIDC_ISSUER_URL, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET } = settings
  const needed = { OIDC_ISSUER_URL, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET }
  const names = Object.keys(needed)
  const missing = Object.entries(needed).flatMap(([name, value]) => (value === undefined ? [name] : []))
  if (missing.length === names.length) return null
  if (OIDC_ISSUER_URL === undefined || OIDC_CLIENT_ID === undefined || OIDC_CLIENT_SECRET === undefined) {
    problems.push(
      `${missing.join(', ')}: sign-in through a provider needs ${names.join(', ')}; set all or none of them`,
    )
    return null
  }
  return {
    provider: settings.SSO_PROVIDER,
    displayName: settings.SSO_DISPLAY_NAME,
    issuerUrl: OIDC_ISSUER_URL,
    clientId: OIDC_CLIENT_ID,
    clientSecret: OIDC_CLIENT_SECRET,
    scopes: settings.OIDC_SCOPES,
  }
}
