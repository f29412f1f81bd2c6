import { networkInterfaces } from 'node:os'
import type { NetworkInterfaceInfo } from 'node:os'
import ipaddr from 'ipaddr.js'

type Interfaces = Readonly<
  Record<string, readonly Pick<NetworkInterfaceInfo, 'address' | 'family'>[] | undefined>
>

/** Interfaces of containers and virtual machines, which other machines don't reach */
const virtual = /^(br-|cali|cni|docker|flannel|lxc|lxd|podman|veth|virbr|vnet)/
const privateRanges = new Set(['private', 'carrierGradeNat'])

/** The address of this host for the other machines of a cluster: the given one, or its only private one. */
export function chooseAddress(
  given: string | null,
  interfaces: Interfaces = networkInterfaces(),
): { address: string } | { refusal: string } {
  const own = Object.entries(interfaces).flatMap(([name, entries = []]) =>
    entries.flatMap(({ address, family }) =>
      family === 'IPv4' ? [{ name, address, range: rangeOf(address) }] : [],
    ),
  )
  const others = own.filter(({ range }) => range !== 'loopback' && range !== 'linkLocal')
  const known = others.map(({ address }) => address).join(', ') || 'none'
  if (given !== null) {
    const isOwn = own.some(({ address }) => address === given)
    if (isOwn || (ipaddr.IPv4.isValidFourPartDecimal(given) && rangeOf(given) === 'loopback'))
      return { address: given }
    return { refusal: `${given} is no IPv4 address of this machine. Its addresses: ${known}.` }
  }
  const candidates = others.filter(({ name, range }) => privateRanges.has(range) && !virtual.test(name))
  if (candidates.length === 1) return { address: candidates[0]!.address }
  return {
    refusal:
      candidates.length === 0
        ? `This machine has no private IPv4 address. Its addresses: ${known}. Choose one with --address, and let only your machines reach its ports.`
        : `This machine has several addresses: ${candidates.map(({ address }) => address).join(', ')}. Choose the one that the other machines reach with --address.`,
  }
}

function rangeOf(address: string): string {
  return ipaddr.IPv4.parse(address).range()
}
