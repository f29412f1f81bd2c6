/**
 * True where an address has a letter beyond ASCII that, compared without case, is one of ASCII's: İ is an i, the Kelvin sign a k.
 * It belongs to somebody else than the address that it would be taken for.
 */
export function foldsIntoAscii(email: string): boolean {
  return /[\u0130\u212a]/.test(email)
}
