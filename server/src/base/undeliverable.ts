/**
 * True for an address below the domain `invalid`, which receives no mail (RFC 6761), such as that of a
 * service member.
 */
export function isUndeliverable(email: string): boolean {
  return /[@.]invalid$/i.test(email)
}
