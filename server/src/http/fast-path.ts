import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyBaseLogger } from 'fastify'
import { isInNetworks } from '../base/network.ts'
import type { Viewer } from '../base/viewer.ts'
import type { App } from './app.ts'
import type { BodyHold } from './raw-body.ts'
import { requireAccess } from './current-viewer.ts'
import type { RouteAccess } from './current-viewer.ts'
import { countHosts } from './duplicate-host.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Serves plain requests for busy routes without Fastify's router and hooks */
    fastPath: FastPath
  }
}

/** An error response: the body is JSON. */
export interface ErrorResponse {
  status: number
  headers: Readonly<Record<string, string>>
  body: string
}

/** A POST route that takes JSON, with what it would otherwise tell Fastify. */
export interface FastRoute {
  path: string
  access: RouteAccess
  /** Reads the body of a request. */
  parse(call: FastCall, message: IncomingMessage, done: (error: Error | null, body?: Buffer) => void): void
  /** Composes the response to an error that the route throws or sends. */
  composeError(error: unknown, call: FastCall): ErrorResponse
  handle(call: FastCall, body: Buffer): void
}

export interface FastPathGuards {
  /** Headers of each response */
  headers: Readonly<Record<string, string>>
  /** Whether the server serves this `Host` */
  isKnownHost(host: string): boolean
  /** Finds the signed-in user of a `Cookie` header in memory; null when that needs the database. */
  findViewer(cookies: string): Viewer | null
  /** The caller's address; null if only Fastify can tell */
  findAddress(message: IncomingMessage): string | null
  watchRate(message: IncomingMessage): void
}

export interface FastPath {
  add(route: FastRoute): void
}

/**
 * Lets plain requests pass by Fastify, whose router and hooks cost as much as the rest of a short request. A
 * request is plain if it is as programs send it, its route is exact, and all that is needed to admit it is in
 * memory. Fastify serves every other request, and is the only one to refuse any: the fast path makes the same
 * checks with the same functions, and leaves a request that fails one to Fastify, before it reads the body.
 * Call this before the server listens.
 */
export function openFastPath(app: App, guards: FastPathGuards): void {
  const routes = new Map<string, FastRoute>()
  app.decorate('fastPath', { add: (route: FastRoute) => void routes.set(route.path, route) })

  /** Starts a plain request. False if Fastify must serve it. */
  function take(message: IncomingMessage, response: ServerResponse): boolean {
    const route = message.method === 'POST' ? routes.get(message.url ?? '') : undefined
    if (route === undefined || app.shuttingDown.signal.aborted) return false
    if (!isPlain(message.headers) || countHosts(message.rawHeaders) !== 1) return false
    if (!guards.isKnownHost(message.headers.host!)) return false
    const viewer = guards.findViewer(message.headers.cookie!)
    if (viewer === null || !hasAccess(viewer, route)) return false
    const { allowedNetworks } = viewer
    if (allowedNetworks !== null && !isInNetworks(guards.findAddress(message), allowedNetworks)) return false
    guards.watchRate(message)
    run(new FastCall(app, guards.headers, route, { response, viewer }), message)
    return true
  }

  const [serve] = app.server.listeners('request') as [(...pair: [IncomingMessage, ServerResponse]) => void]
  app.server.removeListener('request', serve)
  app.server.on('request', (message: IncomingMessage, response: ServerResponse) => {
    if (!take(message, response)) serve(message, response)
  })
}

/** True for a JSON request of a program. Browsers say where they come from, proxies whom they forward. */
function isPlain(headers: IncomingHttpHeaders): boolean {
  return (
    isJson(headers['content-type']) &&
    Number(headers['content-length']) > 0 &&
    headers.cookie !== undefined &&
    headers.host !== undefined &&
    headers['transfer-encoding'] === undefined &&
    headers.expect === undefined &&
    headers.origin === undefined &&
    headers['sec-fetch-site'] === undefined &&
    headers['x-forwarded-host'] === undefined
  )
}

function isJson(contentType: string | undefined): boolean {
  return contentType === 'application/json' || contentType === 'application/json; charset=utf-8'
}

function hasAccess(viewer: Viewer, { path, access }: FastRoute): boolean {
  try {
    requireAccess(viewer, { method: 'POST', routeOptions: { url: path, config: access } })
    return true
  } catch {
    return false
  }
}

function run(call: FastCall, message: IncomingMessage): void {
  const { route } = call
  route.parse(call, message, (error, body) => {
    // The rest of the body may still arrive, so the connection can't be used again.
    if (error !== null) return call.send(error, { connection: 'close' })
    try {
      route.handle(call, body!)
    } catch (thrown) {
      call.send(thrown)
    }
  })
}

/** The parts of Fastify's request and reply that a fast route uses, for one request. */
export class FastCall {
  readonly app: App
  readonly own: Readonly<Record<string, string>>
  readonly route: FastRoute
  readonly raw: ServerResponse
  readonly viewer: Viewer
  readonly id = randomUUID()
  readonly startedAt = performance.now()
  bodyHold: BodyHold | null = null
  hasOwnAccessLog = false

  constructor(
    app: App,
    own: Readonly<Record<string, string>>,
    route: FastRoute,
    parts: { response: ServerResponse; viewer: Viewer },
  ) {
    this.app = app
    this.own = own
    this.route = route
    this.raw = parts.response
    this.viewer = parts.viewer
    // Without a listener, a write to a caller who has left would end the process.
    parts.response.on('error', ignore)
  }

  get headers(): IncomingHttpHeaders {
    return this.raw.req.headers
  }

  get log(): FastifyBaseLogger {
    return this.app.log.child({ reqId: this.id })
  }

  getHeaders(): Record<string, string> {
    return { ...this.own, 'x-request-id': this.id }
  }

  hijack(): void {}

  /** Sends an error response, unless the caller has left. */
  send(error: unknown, connection: Readonly<Record<string, string>> = {}): void {
    const { raw } = this
    if (!this.hasOwnAccessLog) raw.once('close', () => this.measure())
    if (raw.destroyed) return
    const { status, headers, body } = this.route.composeError(error, this)
    raw.writeHead(status, {
      ...this.getHeaders(),
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
      ...headers,
      ...connection,
    })
    raw.end(body)
  }

  measure(): void {
    const { statusCode: status } = this.raw
    const milliseconds = performance.now() - this.startedAt
    this.app.measureRequest({ method: 'POST', route: this.route.path, status, milliseconds }, this.log)
  }
}

function ignore(): void {}
