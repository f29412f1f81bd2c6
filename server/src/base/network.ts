import ipaddr from 'ipaddr.js'

/** The IP address in an entry of `X-Forwarded-For`, which some proxies write with a port; null for any other text. */
export function readAddress(text: string): string | null {
  const [, inBrackets, beforePort] = /^\[(.+)\](?::\d+)?$|^([\d.]+):\d+$/.exec(text) ?? []
  const address = inBrackets ?? beforePort ?? text
  const isAddress = ipaddr.IPv4.isValidFourPartDecimal(address) || ipaddr.IPv6.isValid(address)
  return isAddress ? address : null
}

/**
 * The network that a caller controls: an IPv4 address, or the first 64 bits of an IPv6 address, from which one caller can use
 * 2^64 addresses. An IPv4-mapped IPv6 address counts as IPv4. All texts without an address are one network, because a caller could choose them.
 */
export function networkOf(text: string): string {
  const address = readAddress(text)
  if (address === null) return 'unknown'
  const parsed = ipaddr.process(address)
  if (parsed instanceof ipaddr.IPv4) return parsed.toString()
  const groups = parsed.parts.slice(0, 4).map((group) => group.toString(16))
  return `${groups.join(':')}::/64`
}
