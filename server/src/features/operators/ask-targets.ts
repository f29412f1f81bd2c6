import { request } from 'undici'
import { findProxy, openProxyAgent } from '../../base/proxy.ts'
import type { Config } from '../../config/config.ts'
import type { Finding } from './finding.ts'

const timeoutMilliseconds = 10_000
const stripeUrl = new URL('https://api.stripe.com')

/** A server on the network, and whether it answers. */
export interface AskedTarget {
  subject: string
  isReachable: boolean
  /** Such as `api.stripe.com answers directly (404)` */
  state: string
}

/** The servers on the network as findings of `doctor`. */
export async function examineTargets(config: Config): Promise<Finding[]> {
  return (await askTargets(config)).map(({ subject, isReachable, state }) => ({
    subject,
    state,
    remedy: isReachable ? null : 'Check the address, the firewall, HTTP_PROXY, HTTPS_PROXY and NO_PROXY.',
  }))
}

/** Asks every server on the network that the settings name, over the same way as Berth's requests to it. */
export async function askTargets(config: Config): Promise<AskedTarget[]> {
  const agent = openProxyAgent(config.proxy, { connect: { timeout: timeoutMilliseconds } })
  try {
    return await Promise.all(
      listTargets(config).map(async ([subject, url]): Promise<AskedTarget> => {
        const proxy = findProxy(config.proxy, url)
        const way = proxy === null ? 'directly' : `through the proxy ${new URL(proxy).host}`
        try {
          const signal = AbortSignal.timeout(timeoutMilliseconds)
          const { statusCode, body } = await request(url.origin, {
            method: 'HEAD',
            dispatcher: agent,
            signal,
          })
          await body.dump()
          return { subject, isReachable: true, state: `${url.host} answers ${way} (${statusCode})` }
        } catch (error) {
          const { code, message } = error as Error & { code?: string }
          return {
            subject,
            isReachable: false,
            state: `${url.host} can’t be reached ${way} (${code ?? message})`,
          }
        }
      }),
    )
  } finally {
    await agent.destroy()
  }
}

function listTargets({ sso, billing, huggingFace, uploads, alerts, inference }: Config): [string, URL][] {
  const { store } = uploads
  const bucket =
    store === null
      ? null
      : new URL(
          store.endpoint ?? `https://s3.${store.region === null ? '' : `${store.region}.`}amazonaws.com`,
        )
  const targets: Record<string, URL | null> = {
    'identity provider': sso && sso.issuerUrl,
    'payment processor': billing.stripe && stripeUrl,
    'model hub': new URL(huggingFace.endpoint),
    'model store': bucket,
    'receiver of alerts': alerts.operator && alerts.operator.url,
    traces: inference.tracesEndpoint,
  }
  return Object.entries(targets).flatMap(([subject, url]) => (url === null ? [] : [[subject, url]]))
}
