import { z } from 'zod'
import { commaList, duration, oneOf } from './values.ts'
import { passwordHashing } from './password-hashing.ts'
import type { PasswordHashing } from './password-hashing.ts'

/** Who may create an account without an invitation. */
export type RegistrationPolicy =
  | { mode: 'open' | 'invited'; domains: [] }
  | { mode: 'domains'; domains: string[] }

/** The access to the server: registration, passwords and the age of the audit log. */
export interface AccessConfig {
  registration: RegistrationPolicy
  /** true if accounts must verify their email before they deploy or invite; never without a mail server */
  requiresEmailVerification: boolean
  /** No setting changes it; most tests hash cheaply. */
  passwordHashing: PasswordHashing
  /** true to reject the most common passwords */
  passwordBlocklist: boolean
  /** Age at which rows of the audit log are deleted */
  auditRetentionMilliseconds: number
}

const domain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$/

const registration = z
  .string()
  .trim()
  .toLowerCase()
  .transform((text, context): RegistrationPolicy => {
    if (text === 'open' || text === 'invited') return { mode: text, domains: [] }
    const [, list = ''] = /^domains:(.*)$/.exec(text) ?? []
    const domains = commaList.parse(list)
    if (domains.length > 0 && domains.every((name) => domain.test(name))) return { mode: 'domains', domains }
    context.addIssue('must be open, invited, or domains such as domains:example.com,example.org')
    return z.NEVER
  })

export const accessSettings = {
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
    requiresEmailVerification: isRequired,
    passwordHashing,
    passwordBlocklist: settings.PASSWORD_BLOCKLIST === 'on',
    auditRetentionMilliseconds: settings.AUDIT_RETENTION,
  }
}
