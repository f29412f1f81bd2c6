import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { CommandError } from '../base/errors.ts'
import { passOn, send } from './forward.ts'
import { hasKey, isLocalHost, isLocalOrigin, isLoopbackAddress, isProbe, methodsOf } from './guard.ts'
import { Refusal, refuse } from './refuse.ts'

export interface ProxyOptions {
  /** The origin of the server */
  url: string
  /** The `Cookie` header, read for each request, because the person may sign in again */
  readCookie: () => Promise<string>
  /** Another cookie after the session of one has ended. Its error is the program's 401. */
  replaceCookie: (ended: string) => Promise<string>
  /** The key that programs must send; null for none */
  key: string | null
  /** The header with which programs may name the person they serve; omitted for none */
  memberHeader?: string | undefined
  /** The address to listen on; omitted for loopback. Others need a key, because every name may lead there. */
  host?: string | undefined
  /** 0 for any free port */
  port: number
  /** Called when a request begins to wait for a server that does not respond */
  onOutage?: (() => void) | undefined
}

/** A server, by default on loopback, that adds the person's session to inference requests. */
export interface Proxy {
  /** Its origin */
  url: string
  close(): void
  /** Takes no new requests, and lets those in flight finish for this long */
  drain(milliseconds: number): Promise<void>
}

const loopbackAddress = '127.0.0.1'

/** Starts a proxy. Throws if the port is in use. */
export async function startProxy(options: ProxyOptions): Promise<Proxy> {
  const { host = loopbackAddress } = options
  const server = createServer((request, response) => void respond(options, request, response))
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const isTaken = error.code === 'EADDRINUSE'
      const advice = isTaken
        ? `Port ${options.port} is in use. Choose another with --port, or 0 for any.`
        : error.code === 'EADDRNOTAVAIL'
          ? `This machine has no address ${host}. Choose another with --host.`
          : error.message
      reject(new CommandError(advice))
    })
    server.listen(options.port, host, resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    url: writeOrigin(host, port),
    close() {
      server.close()
      server.closeAllConnections()
    },
    drain: (milliseconds) =>
      new Promise((resolve) => {
        // Connections in use become idle later.
        const closing = setInterval(() => server.closeIdleConnections(), 50)
        server.close(() => {
          clearInterval(closing)
          resolve()
        })
        setTimeout(() => server.closeAllConnections(), milliseconds).unref()
      }),
  }
}

/** The origin at which this machine reaches an address that a server listens on. */
function writeOrigin(host: string, port: number): string {
  if (host === '0.0.0.0') return `http://${loopbackAddress}:${port}`
  if (host === '::') return `http://[::1]:${port}`
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

async function respond(
  options: ProxyOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { pathname, search } = parseTarget(request.url)
  const left = new AbortController()
  response.once('close', () => {
    if (!response.writableFinished) left.abort()
  })
  try {
    admit(options, request, response, pathname)
    if (response.writableEnded) return
    const body = await buffer(request)
    const forward = async (cookie: string) =>
      send(options, { request, body, target: pathname + search, cookie }, left.signal)
    const cookie = await options.readCookie().catch(refuseSession)
    let incoming = await forward(cookie)
    if (incoming.statusCode === 401) {
      incoming.resume()
      incoming = await forward(await options.replaceCookie(cookie).catch(refuseSession))
    }
    await passOn(incoming, response)
  } catch (error) {
    if (!(error instanceof Refusal) || response.headersSent) response.destroy()
    else refuse(response, pathname, error)
  }
}

function refuseSession(error: Error): never {
  throw error instanceof Refusal ? error : new Refusal(401, 'authentication_error', error.message)
}

function parseTarget(target = '/'): URL {
  try {
    return new URL(target, 'http://localhost')
  } catch {
    return new URL('http://localhost')
  }
}

/** Responds without the server if it can. Throws a Refusal for a request that the proxy does not forward. */
function admit(
  { key, host = loopbackAddress }: ProxyOptions,
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
): void {
  const { method = '', headers } = request
  if (isLoopbackAddress(host) && !isLocalHost(headers.host, key !== null)) {
    throw new Refusal(
      403,
      'permission_error',
      'Use the address http://127.0.0.1. For programs in containers, `berth connect` has --host.',
    )
  }
  allowOrigin(request, response)
  if (method === 'OPTIONS') return void response.writeHead(204).end()
  // Anthropic's clients ask whether the address responds.
  if (path === '/' && (method === 'HEAD' || method === 'GET')) return void response.writeHead(200).end()
  const methods = methodsOf(path)
  if (methods.length === 0) {
    throw new Refusal(
      404,
      'not_found_error',
      `${path} is not for programs. This address serves inference only.`,
    )
  }
  if (!methods.includes(method)) {
    response.setHeader('allow', methods.join(', '))
    throw new Refusal(405, 'invalid_request_error', `${path} takes ${methods.join(' or ')}.`)
  }
  if (key !== null && !isProbe(path) && !hasKey(headers, key)) {
    throw new Refusal(
      401,
      'authentication_error',
      'The key is wrong. Use the one that `berth connect` printed.',
    )
  }
}

/** Lets pages of this machine read responses (CORS), and refuses those of others. */
function allowOrigin({ headers }: IncomingMessage, response: ServerResponse): void {
  const { origin } = headers
  if (origin === undefined) return
  if (!isLocalOrigin(origin))
    throw new Refusal(403, 'permission_error', `Pages of ${origin} can't use this address.`)
  response.setHeader('vary', 'origin')
  response.setHeader('access-control-allow-origin', origin)
  response.setHeader('access-control-allow-methods', 'GET, HEAD, POST')
  response.setHeader('access-control-allow-headers', headers['access-control-request-headers'] ?? '*')
  response.setHeader('access-control-expose-headers', '*')
  response.setHeader('access-control-max-age', '600')
}
