import type { WriteBatch } from '../write-batch.ts'
import { parseAddress, UpstreamConnection } from './connection.ts'
import type { ConnectionPool, OpenSocket, UpstreamAddress } from './connection.ts'
import { leaveMilliseconds } from './upstream.ts'
import type { UpstreamClient, UpstreamTimeouts } from './upstream.ts'

const bufferBytes = 32 * 1024
/** Most short responses fit; of a long one, only this much must be copied into the handler's buffer. */
const headBytes = 4 * 1024
/** Shorter than the keep-alive timeout of common engines, so that they rarely close a connection in use */
const keepAliveMilliseconds = 4_000

/**
 * HTTP/1.1 with one read buffer and timer for all connections, and one write per request. Idle connections
 * are reused last in, first out, so that those of a burst expire. Opens none before the first request.
 */
export function createUpstreamClient(
  timeouts: UpstreamTimeouts,
  writeBatch: WriteBatch,
  openSocket: OpenSocket | null = null,
): UpstreamClient {
  const idle = new Map<string, UpstreamConnection[]>()
  const all = new Set<UpstreamConnection>()
  /** By origin, while there are connections */
  const addresses = new Map<string, UpstreamAddress>()
  /** Connections whose responses ended in this event loop turn */
  let returned: UpstreamConnection[] = []
  const limits = { ...timeouts, leave: leaveMilliseconds }
  const tick = Math.min(1000, Math.max(20, Math.min(...Object.values(timeouts)) / 4))
  let timer: NodeJS.Timeout | null = null
  /** Updated by each tick: reading the clock on every read would cost more than the read */
  let now = 0

  const buffer = Buffer.allocUnsafeSlow(bufferBytes)
  const pool: ConnectionPool = {
    buffer,
    headBuffer: buffer.subarray(0, headBytes),
    deadline: (kind) => now + limits[kind] + tick,
    onIdle(connection) {
      connection.keepUntil(now + keepAliveMilliseconds)
      // In a later turn: data after the response then closes the connection before it is reused.
      if (returned.push(connection) === 1) setImmediate(keepReturned)
    },
    onClosed(connection) {
      all.delete(connection)
      removeIdle(connection)
      if (all.size > 0 || timer === null) return
      clearInterval(timer)
      timer = null
      addresses.clear()
    },
  }

  function keepReturned(): void {
    const connections = returned
    returned = []
    for (const connection of connections) {
      if (connection.isClosed) continue
      const { origin } = connection
      const kept = idle.get(origin)
      if (kept === undefined) idle.set(origin, [connection])
      else kept.push(connection)
    }
  }

  function removeIdle(connection: UpstreamConnection): void {
    const { origin } = connection
    const kept = idle.get(origin)
    if (kept === undefined) return
    const index = kept.indexOf(connection)
    if (index >= 0) kept.splice(index, 1)
    if (kept.length === 0) idle.delete(origin)
  }

  /** What arrived while the process stood still counts first: it is read before the check. */
  function checkDeadlines(): void {
    now = performance.now()
    setImmediate(() => {
      for (const connection of all) connection.checkDeadline(now)
    })
  }

  function addressOf(origin: string): UpstreamAddress {
    const known = addresses.get(origin)
    if (known !== undefined) return known
    const address = parseAddress(origin)
    addresses.set(origin, address)
    return address
  }

  function open(origin: string): UpstreamConnection {
    if (timer === null) {
      now = performance.now()
      timer = setInterval(checkDeadlines, tick)
    }
    const connection = new UpstreamConnection(addressOf(origin), pool, openSocket)
    all.add(connection)
    return connection
  }

  return {
    send(origin, request, handler) {
      const connection = idle.get(origin)?.pop() ?? open(origin)
      connection.send(request, handler)
      writeBatch.flushOrDefer(connection)
      return connection
    },
    size: () => all.size,
    async close() {
      for (const connection of all) connection.shutDown()
      idle.clear()
    },
  }
}
