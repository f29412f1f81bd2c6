/** Whether a non-ASCII letter lowercases to ASCII (İ to i): PostgreSQL would match another account. */
export function foldsIntoAscii(email: string): boolean {
  return /[\u0130\u212a]/.test(email)
}
