/** Whether a non-ASCII letter lowercases to ASCII (İ to i): PostgreSQL would match another account. */
export function foldsIntoAscii(email: string): boolean {
  return /[\u0130\u212a]/.test(email)
}

/** What follows the `@` of an email, lowercase. */
export function domainOf(email: string): string {
  return email.slice(email.lastIndexOf('@') + 1).toLowerCase()
}
