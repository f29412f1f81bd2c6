import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

const inferencePaths = new Set([
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/embeddings',
  '/v1/responses',
  '/v1/messages',
  '/v1/messages/count_tokens',
  '/v1/rerank',
  '/v2/rerank',
  '/rerank',
  '/tokenize',
])
const modelPath = /^\/v1\/models(\/.+)?$/
const probes = new Set(['/health', '/version'])
const loopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i
const loopbackAddress = /^(127\.|::1$)/
/** The names under which containers reach the loopback of their host. Nobody else can resolve them. */
const containerHost = /^host\.(docker|containers)\.internal(:\d+)?$/i

/** Whether only this machine reaches an IP address. */
export function isLoopbackAddress(address: string): boolean {
  return loopbackAddress.test(address)
}

/** Whether a request names this machine, unlike a page of a site that resolves its own name to loopback. */
export function isLocalHost(host: string | undefined, admitsContainers: boolean): boolean {
  return host !== undefined && (loopback.test(host) || (admitsContainers && containerHost.test(host)))
}

/** Whether a browser sends the request for a page of this machine. */
export function isLocalOrigin(origin: string): boolean {
  const [, host = ''] = /^https?:\/\/([^/]+)$/.exec(origin) ?? []
  return loopback.test(host)
}

/** The methods that the proxy forwards for a path; no others, so that no program manages the account. */
export function methodsOf(path: string): readonly string[] {
  if (inferencePaths.has(path)) return ['POST']
  return modelPath.test(path) || isProbe(path) ? ['GET', 'HEAD'] : []
}

/** Whether load tools ask the path before they send a key. Its responses are public. */
export function isProbe(path: string): boolean {
  return probes.has(path)
}

/** Whether a request has the key, where a program sends one. */
export function hasKey(headers: IncomingHttpHeaders, key: string): boolean {
  const [, bearer] = /^Bearer +(.+)$/i.exec(headers.authorization ?? '') ?? []
  return [bearer, headers['x-api-key'], headers['api-key']].some(
    (sent) => typeof sent === 'string' && timingSafeEqual(digest(sent), digest(key)),
  )
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
