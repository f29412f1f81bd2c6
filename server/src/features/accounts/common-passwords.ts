import { dictionary } from '@zxcvbn-ts/language-common'
import { passwordBytes } from './passwords.ts'

/** OWASP ASVS 5.0, 6.2.4: at least the 3000 most common passwords that the other rules allow. */
const number = 3_000

const commonPasswords = new Set(
  dictionary['passwords-common'].filter(({ length }) => length >= passwordBytes.min).slice(0, number),
)

/** True for one of the passwords that attackers try first, in any case. */
export function isCommonPassword(password: string): boolean {
  return commonPasswords.has(password.toLowerCase())
}
