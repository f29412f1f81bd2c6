import { Agent, request } from 'undici'
import { Webhook } from 'standardwebhooks'
import { createLookup, literalAddress, mayReach, UnreachableAddressError } from './webhook-addresses.ts'

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
  now: Date,
): Promise<Outcome> {
  const literal = literalAddress(url)
  const isAllowed = (at: string) => networks === null || mayReach(url, at, networks)
  if (literal !== null && !isAllowed(literal)) return unreachable(literal)
  const agent = new Agent({
    connect: { timeout: timeoutMilliseconds, lookup: createLookup(isAllowed) },
  })
  try {
    const { statusCode, body: answer } = await request(url, {
      dispatcher: agent,
      method: 'POST',
      headers: {
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
