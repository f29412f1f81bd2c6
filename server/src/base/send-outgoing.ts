import { isIP } from 'node:net'
import { getCACertificates } from 'node:tls'
import { Agent, ProxyAgent, request } from 'undici'
import type { Dispatcher } from 'undici'
import type { ProxySettings } from '../config/proxy.ts'
import {
  createLookup,
  findAddress,
  literalAddress,
  mayReach,
  UnreachableAddressError,
} from './outgoing-addresses.ts'
import { findProxy } from './proxy.ts'

/** A request to an address of other people's choice. */
export interface OutgoingRequest {
  url: URL
  method: 'GET' | 'POST'
  headers: Record<string, string>
  body?: string
  /** Networks besides the public ones that it may reach; null for any address */
  networks: readonly string[] | null
  /** Certificates to trust besides the usual ones, as PEM */
  certificates?: string | null
  /** Most bytes of a response that are read */
  maxBytes: number
}

export interface OutgoingResponse {
  status: number
  headers: Dispatcher.ResponseData['headers']
  body: Buffer
  /** Whether the body is complete, longer than `maxBytes`, or broke off */
  end: 'complete' | 'too_long' | 'broken'
}

/**
 * Sends a request once, follows no redirects, and checks certificates. A name is resolved once, so that the
 * checked address is the one reached. Throws an `UnreachableAddressError` for one that is not allowed.
 */
export async function sendOutgoing(
  { url, method, headers, body, networks, certificates = null, maxBytes }: OutgoingRequest,
  { proxy, timeoutMilliseconds }: { proxy: ProxySettings; timeoutMilliseconds: number },
): Promise<OutgoingResponse> {
  const literal = literalAddress(url)
  const isAllowed = (at: string) => networks === null || mayReach(url, at, networks)
  if (literal !== null && !isAllowed(literal)) {
    throw new UnreachableAddressError(`${literal} is not allowed.`)
  }
  const through = findProxy(proxy, url)
  const tls = certificates === null ? {} : { ca: trust(certificates) }
  const agent =
    through === null
      ? new Agent({ connect: { ...tls, timeout: timeoutMilliseconds, lookup: createLookup(isAllowed) } })
      : openTunnel(through, url, { timeoutMilliseconds, tls })
  try {
    // A proxy looks names up again, so it gets an address that was checked.
    const isPinned = through !== null && networks !== null
    const target = isPinned ? atAddress(url, literal ?? (await findAddress(url.hostname, isAllowed))) : url
    const response = await request(target, {
      dispatcher: agent,
      method,
      headers: { host: url.host, 'user-agent': 'Berth', ...headers },
      body: body ?? null,
      signal: AbortSignal.timeout(timeoutMilliseconds),
    })
    return {
      status: response.statusCode,
      headers: response.headers,
      ...(await readStart(response.body, maxBytes)),
    }
  } finally {
    await agent.destroy()
  }
}

/** The usual certificates and those of an operator. */
export function trust(certificates: string): string[] {
  return [...getCACertificates('default'), certificates]
}

/** Opens a way through a proxy to a server, which has to prove the name in the URL. */
function openTunnel(
  uri: string,
  { hostname }: URL,
  { timeoutMilliseconds, tls }: { timeoutMilliseconds: number; tls: { ca?: string[] } },
): Dispatcher {
  const isName = isIP(hostname.replace(/^\[(.*)\]$/, '$1')) === 0
  const requestTls = isName ? { ...tls, servername: hostname } : tls
  return new ProxyAgent({ uri, connectTimeout: timeoutMilliseconds, requestTls })
}

function atAddress(url: URL, address: string): URL {
  const target = new URL(url)
  target.hostname = isIP(address) === 6 ? `[${address}]` : address
  return target
}

/** Reads a body up to a limit, so that its sender sees no broken connection. */
async function readStart(
  body: Dispatcher.ResponseData['body'],
  maxBytes: number,
): Promise<Pick<OutgoingResponse, 'body' | 'end'>> {
  const pieces: Buffer[] = []
  let size = 0
  try {
    for await (const piece of body as AsyncIterable<Buffer>) {
      pieces.push(piece.subarray(0, maxBytes - size))
      size += piece.length
      if (size > maxBytes) return { body: Buffer.concat(pieces), end: 'too_long' }
    }
    return { body: Buffer.concat(pieces), end: 'complete' }
  } catch {
    return { body: Buffer.concat(pieces), end: 'broken' }
  }
}
