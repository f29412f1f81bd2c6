/** True for an address below `invalid` (RFC 6761), which gets no mail, such as a service member's. */
export function isUndeliverable(email: string): boolean {
  return /[@.]invalid$/i.test(email)
}
