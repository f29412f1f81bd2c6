import ipaddr from 'ipaddr.js'

/**
 * The network that a caller controls: an IPv4 address, or the first 64 bits of an IPv6 address, from which one caller can use
 * 2^64 addresses. An IPv4-mapped IPv6 address counts as IPv4.
 */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  if (parsed instanceof ipaddr.IPv4) return parsed.toString()
  const groups = parsed.parts.slice(0, 4).map((group) => group.toString(16))
  return `${groups.join(':')}::/64`
}
