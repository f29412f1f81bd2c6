import type { RegistrationPolicy } from '../../config/access.ts'
import type { Config } from '../../config/config.ts'
import { ApplicationError, invalidField } from '../../base/errors.ts'
import { domainOf } from './email-folding.ts'
import { passwordBytes } from './passwords.ts'

/** OWASP ASVS 5.0, 6.2.4: at least the 3000 most common passwords that the other rules allow. */
const number = 3_000

let commonPasswords: Set<string> | null = null

/** Throws `registration_closed` if an account with this email needs an invitation. */
export function assertMayRegister(policy: RegistrationPolicy, email: string): void {
  if (policy.mode === 'open') return
  const domain = domainOf(email)
  if (policy.mode === 'domains' && policy.domains.includes(domain)) return
  const message =
    policy.mode === 'invited'
      ? 'New accounts need an invitation here. Ask an admin of your organization to invite you.'
      : `New accounts need an invitation here, or an email at ${policy.domains.join(' or ')}.`
  throw new ApplicationError('registration_closed', message)
}

/** Throws `password_sign_in_disabled` if only single sign-on is allowed. */
export function assertPasswordsAllowed({ sso }: Pick<Config, 'sso'>): void {
  if (sso?.only !== true) return
  const message = `Passwords are disabled here. Sign in with ${sso.displayName}.`
  throw new ApplicationError('password_sign_in_disabled', message)
}

/** Throws `validation_failed` for `field` if the installation rejects common passwords and this is one. */
export async function assertPasswordUncommon(
  { passwordBlocklist }: Pick<Config, 'passwordBlocklist'>,
  field: string,
  password: string,
): Promise<void> {
  if (!passwordBlocklist || !(await isCommonPassword(password))) return
  const message = 'This password is one of the most common ones. Choose another, such as three random words.'
  throw invalidField(field, message, 'common_password')
}

/** True for a password that attackers try first, in any case. Loads the list on the first call. */
async function isCommonPassword(password: string): Promise<boolean> {
  const { dictionary } = await import('@zxcvbn-ts/language-common')
  commonPasswords ??= new Set(
    dictionary['passwords-common'].filter(({ length }) => length >= passwordBytes.min).slice(0, number),
  )
  return commonPasswords.has(password.toLowerCase())
}
