import { isIP } from 'node:net'
import { Agent, ProxyAgent, request } from 'undici'
import type { Dispatcher } from 'undici'
import { Webhook } from 'standardwebhooks'
import { findProxy } from '../../base/proxy.ts'
import type { ProxySettings } from '../../config/proxy.ts'
import {
  createLookup,
  findAddress,
  literalAddress,
  mayReach,
  UnreachableAddressError,
} from './webhook-addresses.ts'

/** Where a message goes. */
export interface Endpoint {
  url: URL
  /** `whsec_` and bytes in base64 */
  secret: string
  /** Networks besides the public ones that it may reach; null for any address */
  networks: readonly string[] | null
}

/** Whether the receiver has taken a message, and if not, whether another attempt may succeed. */
export type Outcome =
  | { outcome: 'delivered' }
  | { outcome: 'deferred'; reason: string }
  | { outcome: 'rejected'; reason: string }

const timeoutMilliseconds = 10_000
/** Most bytes of a response that are drained, so that the receiver sees no broken connection. */
const answerBytes = 16_384
const gone = 410

/** Sends a message as Standard Webhooks has it. Follows no redirects, and gives up after ten seconds. */
export async function postMessage(
  { url, secret, networks }: Endpoint,
  { id, body }: { id: string; body: string },
  { now, proxy }: { now: Date; proxy: ProxySettings },
): Promise<Outcome> {
  const literal = literalAddress(url)
  const isAllowed = (at: string) => networks === null || mayReach(url, at, networks)
  if (literal !== null && !isAllowed(literal)) return unreachable(literal)
  const through = findProxy(proxy, url)
  const agent =
    through === null
      ? new Agent({ connect: { timeout: timeoutMilliseconds, lookup: createLookup(isAllowed) } })
      : openTunnel(through, url)
  try {
    // A proxy looks names up again, so it gets an address that was checked.
    const isPinned = through !== null && networks !== null
    const target = isPinned ? atAddress(url, literal ?? (await findAddress(url.hostname, isAllowed))) : url
    const { statusCode, body: answer } = await request(target, {
      dispatcher: agent,
      method: 'POST',
      headers: {
        host: url.host,
        'content-type': 'application/json',
        'user-agent': 'Berth',
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
        'webhook-signature': new Webhook(secret).sign(id, now, body),
      },
      body,
      signal: AbortSignal.timeout(timeoutMilliseconds),
    })
    await answer.dump({ limit: answerBytes }).catch(() => undefined)
    return judge(statusCode)
  } catch (error) {
    if (error instanceof UnreachableAddressError) return unreachable(url.hostname)
    return { outcome: 'deferred', reason: describe(error) }
  } finally {
    await agent.destroy()
  }
}

/** Opens a way through a proxy to a receiver, which has to prove the name in the URL. */
function openTunnel(uri: string, { hostname }: URL): Dispatcher {
  const requestTls = isIP(hostname.replace(/^\[(.*)\]$/, '$1')) === 0 ? { servername: hostname } : {}
  return new ProxyAgent({ uri, connectTimeout: timeoutMilliseconds, requestTls })
}

function atAddress(url: URL, address: string): URL {
  const target = new URL(url)
  target.hostname = isIP(address) === 6 ? `[${address}]` : address
  return target
}

function judge(status: number): Outcome {
  if (status >= 200 && status < 300) return { outcome: 'delivered' }
  if (status === gone) return { outcome: 'rejected', reason: 'The receiver answered 410: it is gone.' }
  const redirect = status >= 300 && status < 400 ? ' Redirects are not followed.' : ''
  return { outcome: 'deferred', reason: `The receiver answered ${status}.${redirect}` }
}

function unreachable(host: string): Outcome {
  return { outcome: 'rejected', reason: `${host} has an address that webhooks may not reach.` }
}

function describe(error: unknown): string {
  if (error instanceof DOMException && error.name === 'TimeoutError') return 'No answer within ten seconds.'
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return `The receiver could not be reached${code === '' ? '' : ` (${code})`}.`
}
