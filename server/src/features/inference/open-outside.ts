import { connect, isIP, Socket } from 'node:net'
import { connect as connectTls, createSecureContext } from 'node:tls'
import type { ProxySettings } from '../../config/proxy.ts'
import {
  createLookup,
  findAddress,
  mayReach,
  UnreachableAddressError,
} from '../../base/outgoing-addresses.ts'
import type { ResolveAll } from '../../base/outgoing-addresses.ts'
import { findProxy } from '../../base/proxy.ts'
import { trust } from '../../base/send-outgoing.ts'
import { toServerName } from '../../gateway/upstream-client/connection.ts'
import type { OpenSocket } from '../../gateway/upstream-client/connection.ts'
import { OpeningSocket, openThroughProxy } from '../../gateway/upstream-client/proxy-tunnel.ts'

/** Where connections to addresses of other people's choice may lead. */
export interface OutsideRules {
  /** Networks besides the public ones */
  networks: readonly string[]
  /** Certificates to trust besides the usual ones, as PEM; null for none */
  certificates: string | null
  /** The proxies of outgoing requests */
  proxy: ProxySettings
}

/**
 * Opens sockets to addresses of other people's choice. A name is resolved once for a connection, which goes
 * to the address that was checked.
 */
export function openOutside(
  { networks, certificates, proxy }: OutsideRules,
  resolveAll?: ResolveAll,
): OpenSocket {
  // Parsing all certificates takes longer than a connection.
  let context: ReturnType<typeof createSecureContext> | undefined
  const secureContext = () => {
    if (certificates !== null) context ??= createSecureContext({ ca: trust(certificates) })
    return context === undefined ? {} : { secureContext: context }
  }
  return ({ origin, hostname: host, port, secure }) => {
    const url = new URL(origin)
    const isAllowed = (address: string) => mayReach(url, address, networks)
    // Nothing looks up an address.
    if (isIP(host) !== 0 && !isAllowed(host)) {
      return new Socket().destroy(new UnreachableAddressError(`${host} is not allowed.`))
    }
    const through = findProxy(proxy, url)
    const servername = toServerName(host)
    if (through !== null) {
      const address = isIP(host) === 0 ? findAddress(host, isAllowed, resolveAll) : Promise.resolve(host)
      const socket = new OpeningSocket(openPinned(through, address, port))
      // It has the events and methods of a socket that connections use.
      if (!secure) return socket as unknown as Socket
      return connectTls({ socket, host, ...secureContext(), servername, ALPNProtocols: ['http/1.1'] })
    }
    const target = { host, port, lookup: createLookup(isAllowed, resolveAll) }
    if (!secure) return connect(target)
    return connectTls({ ...target, ...secureContext(), servername, ALPNProtocols: ['http/1.1'] })
  }
}

/** A proxy looks names up again, so it gets an address that was checked. */
async function openPinned(proxy: string, opening: Promise<string>, port: number): Promise<Socket> {
  const address = await opening
  return openThroughProxy(proxy, `${isIP(address) === 6 ? `[${address}]` : address}:${port}`)
}
