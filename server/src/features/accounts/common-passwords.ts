import { passwordBytes } from './passwords.ts'

/** OWASP ASVS 5.0, 6.2.4: at least the 3000 most common passwords that the other rules allow. */
const number = 3_000

let commonPasswords: Set<string> | null = null

/** True for a password that attackers try first, in any case. Loads the list on the first call. */
export async function isCommonPassword(password: string): Promise<boolean> {
  const { dictionary } = await import('@zxcvbn-ts/language-common')
  commonPasswords ??= new Set(
    dictionary['passwords-common'].filter(({ length }) => length >= passwordBytes.min).slice(0, number),
  )
  return commonPasswords.has(password.toLowerCase())
}
