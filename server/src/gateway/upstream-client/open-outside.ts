import { connect, isIP, Socket } from 'node:net'
import { connect as connectTls, createSecureContext } from 'node:tls'
import { createLookup, mayReach, UnreachableAddressError } from '../../base/outgoing-addresses.ts'
import { trust } from '../../base/send-outgoing.ts'
import { toServerName } from './connection.ts'
import type { OpenSocket } from './connection.ts'

/** Where connections to addresses of other people's choice may lead. */
export interface OutsideRules {
  /** Networks besides the public ones */
  networks: readonly string[]
  /** Certificates to trust besides the usual ones, as PEM; null for none */
  certificates: string | null
}

/**
 * Opens sockets to addresses of other people's choice. A name is resolved once for a connection, which goes to
 * the address that was checked.
 */
export function openOutside(
  { networks, certificates }: OutsideRules,
  createChecked: typeof createLookup = createLookup,
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
    const target = { host, port, lookup: createChecked(isAllowed) }
    if (!secure) return connect(target)
    const servername = toServerName(host)
    return connectTls({ ...target, ...secureContext(), servername, ALPNProtocols: ['http/1.1'] })
  }
}
