import { z } from 'zod'
import { commaList, flag, oneOf, wholeNumber } from './values.ts'

/** Who may create an account without an invitation. */
export type RegistrationPolicy =
  | { mode: 'open' | 'invited'; domains: [] }
  | { mode: 'domains'; domains: string[] }

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

const hostName = z
  .string()
  .toLowerCase()
  .regex(
    /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?|\[[0-9a-f:.]+\])$/,
    'must be host names or addresses without a port, such as berth.internal, 10.0.0.5',
  )

/** The settings that decide who may use the server. */
export const accessSettings = {
  REGISTRATION: registration.default({ mode: 'open', domains: [] }),
  REGISTRATION_RATE_LIMIT: wholeNumber(1, 1_000_000).default(60),
  PUBLIC_RATE_LIMIT: wholeNumber(1, 1_000_000).default(120),
  ALLOWED_HOSTS: commaList.pipe(z.array(hostName)).default([]),
  EMAIL_CONFIRMATION: oneOf(['required', 'off']).optional(),
  PASSWORD_BLOCKLIST: oneOf(['on', 'off']).default('off'),
  METRICS_PUBLIC: flag.default(false),
}
