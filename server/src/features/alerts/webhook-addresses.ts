import { lookup } from 'node:dns'
import type { LookupAddress, LookupOptions } from 'node:dns'
import ipaddr from 'ipaddr.js'

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** The virtual host of Azure that serves its machines; a public address */
const azureHost = '168.63.129.16'
/** Where IPv6 has public addresses */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3')

/**
 * Whether an organization's webhook may reach an address: https to public ones, http too in the operator's
 * `networks`. Loopback, private, link-local and metadata addresses are the server's network.
 */
export function mayReach({ protocol }: URL, text: string, networks: readonly string[]): boolean {
  if (!ipaddr.isValid(text)) return false
  const address = ipaddr.process(text)
  if (networks.some((network) => contains(network, address))) return true
  return protocol === 'https:' && isPublic(address)
}

function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast' || address.toString() === azureHost) return false
  return address instanceof ipaddr.IPv4 || address.match(globalUnicast)
}

function contains(network: string, address: Address): boolean {
  const range = ipaddr.parseCIDR(network)
  return range[0].kind() === address.kind() && address.match(range)
}

/** The IP address that a URL names instead of a host; null for a name. */
export function literalAddress({ hostname }: URL): string | null {
  const text = hostname.replace(/^\[(.*)\]$/, '$1')
  return ipaddr.isValid(text) ? text : null
}

/** Thrown for a host whose addresses a webhook must not reach. */
export class UnreachableAddressError extends Error {}

type LookupCallback = (error: Error | null, addresses: LookupAddress[] | string, family?: number) => void

/** Resolves to an address of a host. Throws an `UnreachableAddressError` if one isn't allowed. */
export async function findAddress(
  hostname: string,
  isAllowed: (address: string) => boolean,
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  createLookup(isAllowed)(hostname, {}, (error, address) =>
    error === null ? resolve(typeof address === 'string' ? address : address[0]!.address) : reject(error),
  )
  return promise
}

/** A lookup for connections, against DNS rebinding. Refuses a host if any of its addresses isn't allowed. */
export function createLookup(isAllowed: (address: string) => boolean) {
  return (hostname: string, options: LookupOptions, callback: LookupCallback): void => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, [])
      if (addresses.length === 0 || !addresses.every(({ address }) => isAllowed(address))) {
        return callback(
          new UnreachableAddressError(`${hostname} has an address that webhooks may not reach.`),
          [],
        )
      }
      if (options.all === true) return callback(null, addresses)
      const [{ address, family }] = addresses as [LookupAddress]
      callback(null, address, family)
    })
  }
}
