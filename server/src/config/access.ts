import { z } from 'zod'
import { commaList, duration, oneOf } from './values.ts'
import { passwordHashing } from './password-hashing.ts'
import type { PasswordHashing } from './password-hashing.ts'

/** Who may create an account without an invitation. */
export type RegistrationPolicy =
  | { mode: 'open' | 'invited'; domains: [] }
  | { mode: 'domains'; domains: string[] }

/** People with a proven address of the domain join the organization instead of creating one. */
export interface OrganizationDomain {
  /** Lowercase */
  domain: string
  /** The name of the organization, which the first of them creates */
  organization: string
  role: 'viewer' | 'member' | 'admin'
}

/** The access to the server: registration, passwords and the age of the audit log. */
export interface AccessConfig {
  registration: RegistrationPolicy
  organizationDomains: readonly OrganizationDomain[]
  /** true if accounts must verify their email before they deploy or invite; never without a mail server */
  requiresEmailVerification: boolean
  /** No setting changes it; most tests hash cheaply. */
  passwordHashing: PasswordHashing
  /** true to reject the most common passwords */
  passwordBlocklist: boolean
  /** Age at which rows of the audit log are deleted */
  auditRetentionMilliseconds: number
}

/** A DNS name with at least one dot, lowercase */
export const domainName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$/

const registration = z
  .string()
  .trim()
  .toLowerCase()
  .transform((text, context): RegistrationPolicy => {
    if (text === 'open' || text === 'invited') return { mode: text, domains: [] }
    const [, list = ''] = /^domains:(.*)$/.exec(text) ?? []
    const domains = commaList.parse(list)
    if (domains.length > 0 && domains.every((name) => domainName.test(name)))
      return { mode: 'domains', domains }
    context.addIssue('must be open, invited, or domains such as domains:example.com,example.org')
    return z.NEVER
  })

const organizationDomains = commaList.transform((entries, context): OrganizationDomain[] => {
  const example = 'must be domains with an organization and a role, such as corp.example:Research:member'
  const read = entries.flatMap((entry) => {
    const [, name = '', organization = '', role] =
      /^([^:]+):(.{1,255}):(viewer|member|admin)$/.exec(entry) ?? []
    const lower = name.trim().toLowerCase()
    return role !== undefined && domainName.test(lower) && organization.trim() !== ''
      ? [{ domain: lower, organization: organization.trim(), role: role as OrganizationDomain['role'] }]
      : []
  })
  if (read.length < entries.length) context.addIssue(example)
  const names = read.map((entry) => entry.domain)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) context.addIssue(`must list ${twice} once: a domain has one organization`)
  return read
})

export const accessSettings = {
  ORGANIZATION_DOMAINS: organizationDomains.default([]),
  REGISTRATION: registration.default({ mode: 'open', domains: [] }),
  EMAIL_CONFIRMATION: oneOf(['required', 'off']).default('off'),
  PASSWORD_BLOCKLIST: oneOf(['on', 'off']).default('off'),
  AUDIT_RETENTION: duration({ least: '1d', most: '36500d' }).prefault('400d'),
}

type Settings = z.output<z.ZodObject<typeof accessSettings>>

export function readAccess(settings: Settings, sendsMail: boolean, problems: string[]): AccessConfig {
  const isRequired = settings.EMAIL_CONFIRMATION === 'required'
  if (isRequired && !sendsMail) {
    problems.push('EMAIL_CONFIRMATION: required needs a mail server; set MAIL_URL too')
  }
  return {
    registration: settings.REGISTRATION,
    organizationDomains: settings.ORGANIZATION_DOMAINS,
    requiresEmailVerification: isRequired,
    passwordHashing,
    passwordBlocklist: settings.PASSWORD_BLOCKLIST === 'on',
    auditRetentionMilliseconds: settings.AUDIT_RETENTION,
  }
}
