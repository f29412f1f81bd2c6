import { Webhook } from 'standardwebhooks'
import { UnreachableAddressError } from '../../base/outgoing-addresses.ts'
import { sendOutgoing } from '../../base/send-outgoing.ts'
import type { ProxySettings } from '../../config/proxy.ts'

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
const maxBytes = 16_384
const gone = 410

/** Sends a message as Standard Webhooks has it. Follows no redirects, and gives up after ten seconds. */
export async function postMessage(
  { url, secret, networks }: Endpoint,
  { id, body }: { id: string; body: string },
  { now, proxy }: { now: Date; proxy: ProxySettings },
): Promise<Outcome> {
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign(id, now, body),
  }
  const message = { url, method: 'POST', headers, body, networks, maxBytes } as const
  try {
    const { status } = await sendOutgoing(message, { proxy, timeoutMilliseconds })
    return judge(status)
  } catch (error) {
    if (error instanceof UnreachableAddressError) return unreachable(url.hostname)
    return { outcome: 'deferred', reason: describe(error) }
  }
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
