import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { ApplicationError, serverStopping } from '../base/errors.ts'
import type { App } from './app.ts'

export interface MinimumRate {
  bytesPerSecond: number
  /** Callers below the rate for this long are disconnected */
  timeoutMilliseconds: number
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** true if a body may take longer than `longestBodyMilliseconds` to arrive, at the minimum rate */
    takesLongBodies?: boolean
  }
}

/** A body must arrive within this time, unless its route takes long ones. */
const longestBodyMilliseconds = 300_000

/** The start of the current quota of bytes in one direction, or null while nothing has to move. */
type Mark = { at: number; bytes: number } | null

interface Connection {
  socket: Socket
  /** The latest request, whose body may still arrive */
  request: IncomingMessage | null
  /** When the body of the request must be here */
  dueAt: number
  received: Mark
  sent: Mark
}

/**
 * Disconnects callers that send a body, or read a response, below a minimum rate: `bytesPerSecond` times the
 * timeout must move within each timeout, unless a caller waits for the server or has read all. Returns a
 * watch for requests that Fastify doesn't see. Node's own limit of a request's time has no exceptions.
 */
export function requireMinimumRate(
  app: App,
  { bytesPerSecond, timeoutMilliseconds }: MinimumRate,
): (request: IncomingMessage) => void {
  const quota = Math.ceil((bytesPerSecond * timeoutMilliseconds) / 1000)
  const tick = Math.min(1000, Math.ceil(timeoutMilliseconds / 8))
  // Advances by ticks, so that a process that was frozen does not blame its callers.
  let now = 0

  function isTooSlow(mark: Mark, bytes: number): boolean {
    return mark !== null && now - mark.at >= timeoutMilliseconds && bytes - mark.bytes < quota
  }

  function advance(mark: Mark, bytes: number): Mark {
    return mark === null || bytes - mark.bytes >= quota ? { at: now, bytes } : mark
  }

  function check(connection: Connection): void {
    const { socket, request } = connection
    if (request?.complete) connection.request = null
    // Without a reader the server has not asked for the body yet.
    const receives = connection.request?.readableFlowing === true
    connection.received = receives ? advance(connection.received, socket.bytesRead) : null
    const isLate = connection.request !== null && now >= connection.dueAt
    if (isLate || isTooSlow(connection.received, socket.bytesRead)) return refuse(connection.request!)
    const sent = bytesSent(socket)
    connection.sent = socket.writableLength > 0 ? advance(connection.sent, sent) : null
    if (isTooSlow(connection.sent, sent)) socket.destroy()
  }

  const connections = new Map<Socket, Connection>()
  // One function for all sockets, because many are idle
  function forget(this: Socket): void {
    connections.delete(this)
  }
  const watch = (request: IncomingMessage, longestBody = longestBodyMilliseconds) => {
    const { socket } = request
    const connection = connections.get(socket)
    const dueAt = now + longestBody
    if (connection !== undefined) {
      connection.request = request
      connection.dueAt = dueAt
    } else {
      connections.set(socket, { socket, request, dueAt, received: null, sent: null })
      socket.on('close', forget)
    }
  }
  app.addHook('onRequest', ({ raw, routeOptions }, _reply, done) => {
    watch(raw, routeOptions.config.takesLongBodies === true ? Infinity : undefined)
    done()
  })
  const timer = setInterval(() => {
    now += tick
    for (const connection of connections.values()) check(connection)
  }, tick)
  timer.unref()
  app.ending.signal.addEventListener('abort', () => {
    for (const { request } of connections.values()) {
      if (request !== null && !request.complete) fail(request, serverStopping())
    }
  })
  app.addHook('onClose', async () => clearInterval(timer))
  return watch
}

function refuse(request: IncomingMessage): void {
  fail(request, new ApplicationError('request_timeout', 'The request body arrived too slowly.'))
}

/** Fails the body's parser, which sends the error. Without a parser the response is sent already. */
function fail(request: IncomingMessage, error: ApplicationError): void {
  if (request.listenerCount('error') === 0) request.socket.destroy()
  else request.emit('error', error)
}

/**
 * The bytes that the kernel accepted. `Socket.bytesWritten` includes queued bytes, so a large response, one
 * write, would show no progress. Node's own socket timeout reads the same counter.
 */
function bytesSent(socket: Socket): number {
  const { _handle: handle } = socket as { _handle?: { bytesWritten: number; writeQueueSize: number } | null }
  return handle ? handle.bytesWritten - handle.writeQueueSize : socket.bytesWritten
}
