import { z } from 'zod'
import { commaList, duration, flag, oneOf, optionalText, webAddress } from './values.ts'

/** The OpenID Connect provider for SSO. */
export interface SsoConfig {
  /** A slug: part of the SSO routes and the `auth_method` of SSO sessions */
  provider: string
  /** The provider's name on the sign-in page */
  displayName: string
  /** The issuer, as in its discovery document; plain http only on loopback */
  issuerUrl: URL
  clientId: string
  clientSecret: string
  /** Separated by spaces, including `openid` */
  scopes: string
  /** The claims that may have the person's address; the first that has one counts */
  emailClaims: readonly string[]
  /** What proves an address: its claim `email_verified`, or that the provider sends it */
  emailVerified: EmailVerified
  /** The claim with the names or ids of the person's groups; null to read none */
  groupsClaim: string | null
  roleGroups: readonly RoleGroup[]
  /** true if passwords are disabled */
  only: boolean
  /** With `only`: milliseconds until a session ends; null for the expiry of the provider's ID token */
  sessionMilliseconds: number | null
}

/** Members of a group at the provider have the role in the organization of their domain. */
export interface RoleGroup {
  role: 'viewer' | 'member' | 'admin' | 'super_admin'
  group: string
}

export type EmailVerified = 'claim' | 'trusted'

/** With `only`: the lifetime of a session unless the operator or the provider says otherwise */
export const defaultSessionMilliseconds = 8 * 3_600_000

const microsoftHost = /^login\.(microsoftonline\.(com|us)|partner\.microsoftonline\.cn|chinacloudapi\.cn)$/
/** Microsoft's issuers for accounts of any tenant, and its tenant of private accounts */
const openTenant = /^\/(common|organizations|consumers|9188040d-6c67-4c5b-b112-36a304b66dad)(\/|$)/i

const loopbackHost = /^(localhost|127(\.\d+){3}|\[::1\])$/

const roleGroups = commaList.transform((entries, context): RoleGroup[] => {
  const read = entries.flatMap((entry) => {
    const [, role, group = ''] = /^(viewer|member|admin|super_admin):(.{1,255})$/.exec(entry) ?? []
    return role === undefined ? [] : [{ role: role as RoleGroup['role'], group }]
  })
  if (read.length < entries.length) {
    context.addIssue('must be roles with a group each, such as admin:berth-admins,member:berth-users')
  }
  return read
})

/** Standard claims that a person can often change at the provider (OpenID Connect Core 1.0, section 5.1) */
const editableClaims =
  /^(name|(given|family|middle|nick)[_]?name|preferred_username|profile|picture|website|email|gender|birthdate|zoneinfo|locale|phone_number|address)$/

/** The settings of SSO. */
export const ssoSettings = {
  SSO_PROVIDER: z
    .string()
    .trim()
    .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'must be a short name of a-z, 0-9 and single dashes, such as oidc')
    .max(63, 'must have at most 63 characters')
    .refine((name) => name !== 'password', 'must not be password, the name for sign-ins by password')
    .default('oidc'),
  SSO_DISPLAY_NAME: z.string().trim().max(255, 'must have at most 255 characters').default('Single sign-on'),
  OIDC_ISSUER_URL: webAddress('https://login.example.com')
    .refine(
      ({ protocol, hostname }) => protocol === 'https:' || loopbackHost.test(hostname),
      'must be an https address; plain http is allowed only for a provider on this machine',
    )
    .optional(),
  OIDC_CLIENT_ID: optionalText,
  OIDC_CLIENT_SECRET: optionalText,
  OIDC_SCOPES: z
    .string()
    .transform((text) => text.trim().split(/\s+/).join(' '))
    .refine(
      (text) => text.split(' ').includes('openid'),
      'must be scopes separated by spaces, including openid',
    )
    .default('openid email profile'),
  OIDC_EMAIL_CLAIM: commaList.pipe(z.array(z.string()).min(1, 'must name a claim')).default(['email']),
  OIDC_EMAIL_VERIFIED: oneOf(['claim', 'trusted']).default('claim'),
  OIDC_GROUPS_CLAIM: optionalText.refine(
    (claim) => claim === undefined || !editableClaims.test(claim),
    'must be a claim that people can’t change, such as groups',
  ),
  OIDC_ROLE_GROUPS: roleGroups.default([]),
  SSO_ONLY: flag.default(false),
  SSO_SESSION_LIFETIME: z
    .union(
      [oneOf(['provider']).transform(() => null), duration({ least: '1m', most: '365d' })],
      'must be provider, or a duration such as 12h',
    )
    .prefault('8h'),
}

type Settings = z.output<z.ZodObject<typeof ssoSettings>>

/** Returns the provider, or null if none of its settings is set. Adds a problem if only some are set. */
export function readSso(settings: Settings, problems: string[]): SsoConfig | null {
  const { OIDC_ISSUER_URL, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET } = settings
  const needed = { OIDC_ISSUER_URL, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET }
  const names = Object.keys(needed)
  const missing = Object.entries(needed).flatMap(([name, value]) => (value === undefined ? [name] : []))
  if (missing.length === names.length) {
    if (settings.SSO_ONLY) {
      problems.push(`SSO_ONLY: nobody could sign in without a provider; set ${names.join(', ')}`)
    }
    return null
  }
  if (OIDC_ISSUER_URL === undefined || OIDC_CLIENT_ID === undefined || OIDC_CLIENT_SECRET === undefined) {
    problems.push(`${missing.join(', ')}: SSO requires ${names.join(', ')}; set all or none`)
    return null
  }
  if (settings.OIDC_EMAIL_VERIFIED === 'trusted' && isOpenToEverybody(OIDC_ISSUER_URL)) {
    problems.push(
      'OIDC_EMAIL_VERIFIED: must not be trusted with an issuer of all Microsoft tenants, where everybody can have any address; use the issuer of your tenant, https://login.microsoftonline.com/<tenant id>/v2.0',
    )
  }
  if (settings.OIDC_ROLE_GROUPS.length > 0 && settings.OIDC_GROUPS_CLAIM === undefined) {
    problems.push('OIDC_ROLE_GROUPS: needs the claim with the groups; set OIDC_GROUPS_CLAIM too')
  }
  if (settings.OIDC_GROUPS_CLAIM !== undefined && isOpenToEverybody(OIDC_ISSUER_URL)) {
    problems.push(
      'OIDC_GROUPS_CLAIM: must be empty with an issuer of all Microsoft tenants, where everybody can make any group',
    )
  }
  return {
    provider: settings.SSO_PROVIDER,
    displayName: settings.SSO_DISPLAY_NAME,
    issuerUrl: OIDC_ISSUER_URL,
    clientId: OIDC_CLIENT_ID,
    clientSecret: OIDC_CLIENT_SECRET,
    scopes: settings.OIDC_SCOPES,
    emailClaims: settings.OIDC_EMAIL_CLAIM,
    emailVerified: settings.OIDC_EMAIL_VERIFIED,
    groupsClaim: settings.OIDC_GROUPS_CLAIM ?? null,
    roleGroups: settings.OIDC_ROLE_GROUPS,
    only: settings.SSO_ONLY,
    sessionMilliseconds: settings.SSO_SESSION_LIFETIME,
  }
}

/** True if strangers have accounts at the issuer, with addresses that it doesn't check. */
function isOpenToEverybody({ hostname, pathname }: URL): boolean {
  return microsoftHost.test(hostname) && openTenant.test(pathname)
}
