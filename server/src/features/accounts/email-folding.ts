/**
 * Whether an email contains a non-ASCII letter that lowercases to an ASCII one: İ becomes i, the Kelvin sign
 * becomes k. PostgreSQL would match such an email to the account of a different person.
 */
export function foldsIntoAscii(email: string): boolean {
  return /[\u0130\u212a]/.test(email)
}
