import ipaddr from 'ipaddr.js'
import { ApplicationError } from './errors.ts'

/** The IP address in an entry of `X-Forwarded-For`, with or without a port; null for any other text. */
export function readAddress(text: string): string | null {
  const [, inBrackets, beforePort] = /^\[(.+)\](?::\d+)?$|^([\d.]+):\d+$/.exec(text) ?? []
  const address = inBrackets ?? beforePort ?? text
  const isAddress = ipaddr.IPv4.isValidFourPartDecimal(address) || ipaddr.IPv6.isValid(address)
  return isAddress ? address : null
}

/** A range of addresses, parsed. */
export type Network = readonly [address: ipaddr.IPv4 | ipaddr.IPv6, prefixLength: number]

/** Writes a network in CIDR notation with its first address (an address is a network of one); else null. */
export function normalizeNetwork(text: string): string | null {
  const cidr = text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`
  if (ipaddr.IPv4.isValidCIDRFourPartDecimal(cidr)) {
    return `${ipaddr.IPv4.networkAddressFromCIDR(cidr).toString()}/${prefixOf(cidr)}`
  }
  // Callers have no IPv4-mapped addresses, and a zone means nothing on another machine.
  if (!ipaddr.IPv6.isValidCIDR(cidr) || cidr.includes('%')) return null
  const first = ipaddr.IPv6.networkAddressFromCIDR(cidr)
  return first.isIPv4MappedAddress() ? null : `${first.toString()}/${prefixOf(cidr)}`
}

function prefixOf(cidr: string): number {
  return Number(cidr.slice(cidr.indexOf('/') + 1))
}

/** Whether an address is in one of these networks. */
export function isInNetworks(address: string | null, networks: readonly Network[]): boolean {
  const own = address === null ? null : readAddress(address)
  if (own === null) return false
  const parsed = ipaddr.process(own)
  return networks.some(([first, length]) => first.kind() === parsed.kind() && parsed.match([first, length]))
}

/** Throws `network_not_allowed` for the address of a service member outside its networks. */
export function assertInNetworks(address: string | null, networks: readonly Network[]): void {
  if (isInNetworks(address, networks)) return
  const message = `This service member may not work from ${address ?? 'an unknown address'}. An admin can change its networks.`
  throw new ApplicationError('network_not_allowed', message)
}

/** Parses networks in CIDR notation. */
export function parseNetworks(texts: readonly string[]): Network[] {
  return texts.map((text) => ipaddr.parseCIDR(text))
}

/** Whether limits of networks spare an address: the machine's own, or a private one without a known proxy. */
export function isFreeOfLimits(text: string, trustProxy: readonly string[] | false): boolean {
  const address = readAddress(text)
  if (address === null) return false
  const range = ipaddr.process(address).range()
  return range === 'loopback' || (trustProxy === false && privateRanges.has(range))
}

const privateRanges = new Set(['private', 'uniqueLocal', 'linkLocal', 'carrierGradeNat'])

/**
 * The network that a caller controls: an IPv4 address, mapped or not, or the first 64 bits of an IPv6
 * address. All texts without an address are one network, because a caller could choose them.
 */
export function networkOf(text: string): string {
  const address = readAddress(text)
  if (address === null) return 'unknown'
  const parsed = ipaddr.process(address)
  if (parsed instanceof ipaddr.IPv4) return parsed.toString()
  const groups = parsed.parts.slice(0, 4).map((group) => group.toString(16))
  return `${groups.join(':')}::/64`
}
