import { randomInt } from 'node:crypto'
import { hashToken } from '../../base/hash-token.ts'

const number = 10
const length = 24
/** Without characters that look alike: 0 and o, 1, i and l. */
const alphabet = '23456789abcdefghjkmnpqrstuvwxyz'

/** Ten codes of six groups such as `7h3k`: 112 bits, so that a plain hash is safe (OWASP ASVS 5.0, 6.5.2). */
export function generateRecoveryCodes(): string[] {
  return Array.from({ length: number }, () => {
    const characters = Array.from({ length }, () => alphabet[randomInt(alphabet.length)])
    return characters.join('').replaceAll(/.{4}(?=.)/g, '$&-')
  })
}

/** The hash that is stored. Case, spaces and dashes don't matter. */
export function hashRecoveryCode(code: string): Buffer {
  return hashToken(code.toLowerCase().replaceAll(/[\s-]/g, ''))
}
