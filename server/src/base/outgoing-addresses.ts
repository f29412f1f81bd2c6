/** Which addresses of other people's choice the server may reach. */

import { lookup as resolveName } from 'node:dns'
import type { LookupAddress, LookupOptions } from 'node:dns'
import ipaddr from 'ipaddr.js'

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** The virtual host of Azure that serves its machines; a public address */
const azureHost = '168.63.129.16'
/** Where IPv6 has public addresses */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3')

/**
 * Whether a URL may lead to an address: https to public ones, http too in the operator's `networks`.
 * Loopback, private, link-local and metadata addresses are the server's network.
 */
export function mayReach({ protocol }: URL, text: string, networks: readonly string[]): boolean {
  if (!ipaddr.isValid(text)) return false
  const address = ipaddr.process(text)
  if (networks.some((network) => contains(network, address))) return true
  return protocol === 'https:' && isPublic(address)
}

/** Whether an IP address is public. */
export function isPublicAddress(text: string): boolean {
  return ipaddr.isValid(text) && isPublic(ipaddr.process(text))
}

/** Whether the host of a URL is this machine's name or a literal address that is not public. */
export function isInternalHost(url: URL): boolean {
  const { hostname } = url
  if (hostname === 'localhost' || hostname.endsWith('.localhost')) return true
  const literal = literalAddress(url)
  return literal !== null && !isPublicAddress(literal)
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

/**
 * The host in the text of an http or https URL, in lowercase; null for credentials, backslashes and
 * unencoded characters, which programs read in different ways.
 */
export function readPlainHost(text: string): string | null {
  const host = /^https?:\/\/([a-z0-9.-]+)(?::\d{1,5})?(?:\/[!-[\]-~]*)?$/i.exec(text)?.[1]
  return host?.toLowerCase() ?? null
}

/** Thrown for a host with an address that must not be reached. */
export class UnreachableAddressError extends Error {}

type LookupCallback = (error: Error | null, addresses: LookupAddress[] | string, family?: number) => void

/** Resolves a name for a connection, like `dns.lookup`. */
export type Lookup = (hostname: string, options: LookupOptions, callback: LookupCallback) => void

/** Finds all addresses of a name, like `dns.lookup`. */
export type ResolveAll = (
  hostname: string,
  options: LookupOptions & { all: true },
  callback: (error: Error | null, addresses: LookupAddress[]) => void,
) => void

/** Resolves to an address of a host. Throws an `UnreachableAddressError` if one isn't allowed. */
export async function findAddress(
  hostname: string,
  isAllowed: (address: string) => boolean,
  resolveAll?: ResolveAll,
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  createLookup(isAllowed, resolveAll)(hostname, {}, (error, address) =>
    error === null ? resolve(typeof address === 'string' ? address : address[0]!.address) : reject(error),
  )
  return promise
}

/**
 * A lookup for connections, against DNS rebinding: a connection goes to the address that was checked. Refuses
 * a host if any of its addresses isn't allowed.
 */
export function createLookup(
  isAllowed: (address: string) => boolean,
  resolveAll: ResolveAll = resolveName,
): Lookup {
  return (hostname, options, callback) => {
    resolveAll(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, [])
      if (addresses.length === 0 || !addresses.every(({ address }) => isAllowed(address))) {
        return callback(new UnreachableAddressError(`${hostname} has an address that is not allowed.`), [])
      }
      if (options.all === true) return callback(null, addresses)
      const [{ address, family }] = addresses as [LookupAddress]
      callback(null, address, family)
    })
  }
}

/** A lookup for redirects: a server with public addresses leads to public addresses only. */
export function createRedirectLookup(server: URL, resolveAll: ResolveAll = resolveName): Lookup {
  const anywhere = createLookup(() => true, resolveAll)
  const publicOnly = createLookup(isPublicAddress, resolveAll)
  return (hostname, options, callback) => {
    if (hostname === server.hostname || isInternalHost(server)) return anywhere(hostname, options, callback)
    resolveAll(server.hostname, { all: true }, (error, own) => {
      const isInternal = error === null && own.some(({ address }) => !isPublicAddress(address))
      const lookup = isInternal ? anywhere : publicOnly
      lookup(hostname, options, callback)
    })
  }
}
