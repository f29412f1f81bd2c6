import type { Turn } from '../turn.ts'
import { keptMilliseconds } from './client.ts'
import type { EngineClient, EngineTimeouts } from './client.ts'
import { EngineConnection, parseAddress } from './connection.ts'
import type { ConnectionOwner } from './connection.ts'

/** Longer answers are read to where they are held, if their lengths are known. */
const bufferBytes = 32 * 1024
/** Until an answer's head is there: most short answers fit, and of a long one no more must be copied. */
const headBytes = 4 * 1024

/**
 * A client of HTTP/1.1 for engines alone: one buffer for all that is read, one write for a request, one timer for all connections.
 * Idle ones are taken last in, first out, so that what a burst needed ends when it is not needed. Opens no connection by itself.
 */
export function openNativeClient(timeouts: EngineTimeouts, turn: Turn): EngineClient {
  const idle = new Map<string, EngineConnection[]>()
  const all = new Set<EngineConnection>()
  /** Connections whose answers ended in this turn of the event loop */
  let returned: EngineConnection[] = []
  const tick = Math.min(1000, Math.max(20, Math.min(...Object.values(timeouts)) / 4))
  let timer: NodeJS.Timeout | null = null
  /** As the last tick found it: to ask the time with each read would cost more than the reading */
  let now = 0

  const buffer = Buffer.allocUnsafeSlow(bufferBytes)
  const owner: ConnectionOwner = {
    buffer,
    headBuffer: buffer.subarray(0, headBytes),
    deadline: (kind) => now + timeouts[kind] + tick,
    onIdle(connection) {
      connection.deadline = now + keptMilliseconds
      // A turn later: what an engine sends behind its answer is met by no request, and ends the connection.
      if (returned.push(connection) === 1) setImmediate(keepReturned)
    },
    onClosed(connection) {
      all.delete(connection)
      removeIdle(connection)
      if (all.size > 0 || timer === null) return
      clearInterval(timer)
      timer = null
    },
  }

  function keepReturned(): void {
    const connections = returned
    returned = []
    for (const connection of connections) {
      if (connection.closed) continue
      const { origin } = connection.address
      const kept = idle.get(origin)
      if (kept === undefined) idle.set(origin, [connection])
      else kept.push(connection)
    }
  }

  function removeIdle(connection: EngineConnection): void {
    const { origin } = connection.address
    const kept = idle.get(origin)
    if (kept === undefined) return
    const index = kept.indexOf(connection)
    if (index >= 0) kept.splice(index, 1)
    if (kept.length === 0) idle.delete(origin)
  }

  function checkTimes(): void {
    now = performance.now()
    for (const connection of all) connection.checkTime(now)
  }

  function open(origin: string): EngineConnection {
    if (timer === null) {
      now = performance.now()
      timer = setInterval(checkTimes, tick)
    }
    const connection = new EngineConnection(parseAddress(origin), owner)
    all.add(connection)
    return connection
  }

  return {
    send(origin, request, handler) {
      const connection = idle.get(origin)?.pop() ?? open(origin)
      connection.send(request, handler)
      turn.soon(connection)
      return connection
    },
    size: () => all.size,
    async close() {
      for (const connection of all) connection.abort()
      idle.clear()
    },
  }
}
