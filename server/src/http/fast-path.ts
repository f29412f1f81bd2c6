import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyBaseLogger, FastifyContextConfig } from 'fastify'
import { serverStopping } from '../base/errors.ts'
import { OpenList } from '../base/open-list.ts'
import type { Viewer } from '../base/viewer.ts'
import type { App } from './app.ts'
import { requireAccess } from './current-viewer.ts'
import { findRefusal } from './guards.ts'
import type { Guard } from './guards.ts'
import type { BodyHold } from './raw-body.ts'

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

/** A POST route that takes JSON, with its settings for Fastify. */
export interface FastRoute {
  path: string
  config: FastifyContextConfig
  parse(call: FastCall, message: IncomingMessage, done: (error: Error | null, body?: Buffer) => void): void
  /** Composes the response to an error that the route throws or sends. */
  composeError(error: unknown, call: FastCall): ErrorResponse
  handle(call: FastCall, body: Buffer): void
}

export interface FastPathOptions {
  /** Headers of each response */
  headers: Readonly<Record<string, string>>
  /** Those of the server's hook */
  guards: readonly Guard[]
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
 * memory. Fastify serves every other request, and is the only one to refuse any: the fast path calls the
 * functions of Fastify's hooks (`guards.ts`, `requireAccess`, the watch of the rate), and leaves a request
 * that one of them refuses to Fastify, before it reads the body. Call this before the server listens.
 */
export function openFastPath(app: App, options: FastPathOptions): void {
  const routes = new Map<string, FastRoute>()
  const waiting = new OpenList<FastCall>()
  app.decorate('fastPath', { add: (route: FastRoute) => void routes.set(route.path, route) })
  app.ending.signal.addEventListener('abort', () => {
    for (const call of waiting.list()) if (!call.hasOwnAccessLog) call.send(serverStopping())
  })

  /** Starts a plain request. False if Fastify must serve it. */
  function take(message: IncomingMessage, response: ServerResponse): boolean {
    const route = message.method === 'POST' ? routes.get(message.url ?? '') : undefined
    if (route === undefined || app.shuttingDown.signal.aborted) return false
    const { host, cookie } = message.headers
    if (!isPlain(message.headers) || host === undefined || cookie === undefined) return false
    const routeOptions = { url: route.path, config: route.config }
    if (findRefusal(options.guards, { raw: message, hostname: host, routeOptions }) !== null) return false
    const viewer = options.findViewer(cookie)
    if (viewer === null) return false
    // Only the networks of a service member need the address.
    const ip = viewer.allowedNetworks === null ? null : options.findAddress(message)
    if (!hasAccess(viewer, { method: 'POST', ip, routeOptions })) return false
    options.watchRate(message)
    run(route, new FastCall(app, options.headers, route, { response, viewer }), message, waiting)
    return true
  }

  const [serve] = app.server.listeners('request') as [(...pair: [IncomingMessage, ServerResponse]) => void]
  app.server.removeListener('request', serve)
  app.server.on('request', (message: IncomingMessage, response: ServerResponse) => {
    if (!take(message, response)) serve(message, response)
  })
}

/** True for a JSON request of a program: browsers name their origin, and proxies the caller. */
function isPlain(headers: IncomingHttpHeaders): boolean {
  return (
    isJson(headers['content-type']) &&
    Number(headers['content-length']) > 0 &&
    headers['transfer-encoding'] === undefined &&
    headers.expect === undefined &&
    headers.origin === undefined &&
    headers['x-forwarded-host'] === undefined
  )
}

function isJson(contentType: string | undefined): boolean {
  return contentType === 'application/json' || contentType === 'application/json; charset=utf-8'
}

function hasAccess(...given: Parameters<typeof requireAccess>): boolean {
  try {
    requireAccess(...given)
    return true
  } catch {
    return false
  }
}

/** Adds the call to `waiting` if the route neither answers nor takes it at once. */
function run(route: FastRoute, call: FastCall, message: IncomingMessage, waiting: OpenList<FastCall>): void {
  route.parse(call, message, (error, body) => {
    // The rest of the body may still arrive, so the connection can't be used again.
    if (error !== null) return call.send(error, { connection: 'close' })
    try {
      route.handle(call, body!)
    } catch (thrown) {
      call.send(thrown)
    }
    if (call.hasOwnAccessLog || call.raw.headersSent) return
    waiting.add(call)
    call.raw.once('close', () => waiting.delete(call))
  })
}

/** The parts of Fastify's request and reply that a fast route uses, for one request. */
export class FastCall {
  readonly #app: App
  readonly #own: Readonly<Record<string, string>>
  readonly #route: FastRoute
  readonly raw: ServerResponse
  readonly viewer: Viewer
  readonly id = randomUUID()
  readonly startedAt = performance.now()
  bodyHold: BodyHold | null = null
  hasOwnAccessLog = false
  openIndex = -1
  #added: Readonly<Record<string, string>> = {}

  constructor(
    app: App,
    own: Readonly<Record<string, string>>,
    route: FastRoute,
    parts: { response: ServerResponse; viewer: Viewer },
  ) {
    this.#app = app
    this.#own = own
    this.#route = route
    this.raw = parts.response
    this.viewer = parts.viewer
    // Without a listener, a write to a caller who has left would end the process.
    parts.response.on('error', ignore)
  }

  get headers(): IncomingHttpHeaders {
    return this.raw.req.headers
  }

  get log(): FastifyBaseLogger {
    return this.#app.log.child({ reqId: this.id })
  }

  getHeaders(): Record<string, string> {
    return { ...this.#own, 'x-request-id': this.id, ...this.#added }
  }

  /** Adds a header to the response. */
  header(name: string, value: string): void {
    this.#added = { ...this.#added, [name]: value }
  }

  hijack(): void {}

  /** Sends an error response, unless the caller has left. */
  send(error: unknown, connection: Readonly<Record<string, string>> = {}): void {
    const { raw } = this
    if (!this.hasOwnAccessLog) raw.once('close', () => this.#measure())
    if (raw.destroyed || raw.headersSent) return
    const { status, headers, body } = this.#route.composeError(error, this)
    raw.writeHead(status, {
      ...this.getHeaders(),
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
      ...headers,
      ...connection,
    })
    raw.end(body)
  }

  #measure(): void {
    const { statusCode: status } = this.raw
    const milliseconds = performance.now() - this.startedAt
    this.#app.measureRequest({ method: 'POST', route: this.#route.path, status, milliseconds }, this.log)
  }
}

function ignore(): void {}
