import { Client } from 'undici'

/** One connection to an engine, which carries one request at a time. */
export interface EngineConnection {
  origin: string
  client: Client
  open: boolean
  /** An answer came on it before: the engine may close it while the next request is on its way */
  used: boolean
}

/** Connections to engines; see `openEngineClients`. */
export interface EngineClients {
  take(origin: string): EngineConnection
  /** Gives a connection back whose answer was read to its end */
  give(connection: EngineConnection): void
  /** Ends a connection that is of no more use, and the request on it */
  discard(connection: EngineConnection): void
  size(): number
  close(): Promise<void>
}

export interface EngineTimeouts {
  /** Milliseconds until a connection stands */
  connect: number
  /** From the request to the head of its answer */
  firstByte: number
  /** Between two pieces of an answer */
  idle: number
}

/**
 * Opens no connection by itself. Idle ones are taken last in, first out, so that what a burst needed ends when it is not needed;
 * a pool that looks through all its clients for an idle one costs more with each stream that is open.
 */
export function openEngineClients(timeouts: EngineTimeouts): EngineClients {
  const idle = new Map<string, EngineConnection[]>()
  const all = new Set<EngineConnection>()

  function open(origin: string): EngineConnection {
    const client = new Client(origin, {
      connect: { timeout: timeouts.connect },
      headersTimeout: timeouts.firstByte,
      bodyTimeout: timeouts.idle,
      keepAliveTimeout: 4_000,
      pipelining: 1,
      allowH2: false,
    })
    const connection: EngineConnection = { origin, client, open: false, used: false }
    client.on('connect', () => {
      connection.open = true
    })
    client.on('disconnect', () => {
      connection.open = false
      if (removeIdle(connection)) discard(connection)
    })
    all.add(connection)
    return connection
  }

  function removeIdle(connection: EngineConnection): boolean {
    const connections = idle.get(connection.origin)
    const index = connections?.indexOf(connection) ?? -1
    if (connections === undefined || index === -1) return false
    connections.splice(index, 1)
    if (connections.length === 0) idle.delete(connection.origin)
    return true
  }

  function discard(connection: EngineConnection): void {
    if (all.delete(connection)) void connection.client.destroy().catch(() => {})
  }

  function keep(connection: EngineConnection): void {
    if (!connection.open || !all.has(connection)) return discard(connection)
    const connections = idle.get(connection.origin)
    if (connections === undefined) idle.set(connection.origin, [connection])
    else connections.push(connection)
  }

  return {
    take(origin) {
      const connections = idle.get(origin)
      const connection = connections?.pop()
      if (connections?.length === 0) idle.delete(origin)
      return connection ?? open(origin)
    },
    give(connection) {
      connection.used = true
      // A turn later: what an engine sends behind its answer is met by no request, and ends the connection.
      setImmediate(keep, connection)
    },
    discard,
    size: () => all.size,
    async close() {
      idle.clear()
      const closing = [...all].map(({ client }) => client.destroy())
      all.clear()
      await Promise.all(closing)
    },
  }
}
