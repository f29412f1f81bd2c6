import { EventEmitter, on } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import pg from 'pg'
import { endConnection } from './silent-connections.ts'
import type { Database } from './tables.ts'

/**
 * Channels of database notifications. The payload is a deployment id. For `session_revoked` (a session, a role or a profile changed)
 * and `deployment_changed` (the targets of requests changed), the payload is a user id, or empty for all users.
 */
export type Channel = 'deployment_due' | 'deployment_event' | 'session_revoked' | 'deployment_changed'

const channels: readonly Channel[] = [
  'deployment_due',
  'deployment_event',
  'session_revoked',
  'deployment_changed',
]

/** PostgreSQL notifications. A lost connection may lose some, so listeners also poll, and poll again after a reconnect. */
export interface Notifications {
  subscribe(channel: Channel, listener: (payload: string) => void): () => void
  onReconnected(listener: () => void): () => void
  /** Called when the connection is lost. Notifications of later commits may never arrive. */
  onInterrupted(listener: () => void): () => void
  /** True if every notification committed at least 0.8 s ago has certainly arrived */
  isCurrent(): boolean
  /** Yields the payloads of a channel, and `null` after a reconnect, until `signal` aborts. The signal must abort. */
  follow(channel: Channel, signal: AbortSignal): AsyncIterable<string | null>
  close(): Promise<void>
}

/** Sends a notification when the transaction of `db` commits. */
export async function notify(db: Database, channel: Channel, payload: string): Promise<void> {
  await sql`SELECT pg_notify(${channel}, ${payload})`.execute(db)
}

const reconnected = 'reconnected'
const interrupted = 'interrupted'
const currentMilliseconds = 800
const pingMilliseconds = 200
const pingTimeoutMilliseconds = 5_000

/** Listens on a dedicated connection and reconnects until it is closed. */
export async function listenToNotifications(
  url: string,
  onError: (error: unknown) => void,
): Promise<Notifications> {
  const emitter = new EventEmitter().setMaxListeners(0)
  const closing = new AbortController()
  let client: pg.Client | null = null
  let currentAt = -Infinity

  /** Pings the database: its response arrives after all notifications committed before the ping. */
  async function ping(pinged: pg.Client): Promise<void> {
    // oxlint-disable-next-line no-unmodified-loop-condition -- the connection's listeners change `client`
    while (client === pinged) {
      const sentAt = performance.now()
      const overdue = setTimeout(() => endConnection(pinged), pingTimeoutMilliseconds)
      try {
        await pinged.query('')
        if (client === pinged) currentAt = sentAt
        await delay(pingMilliseconds, undefined, { signal: closing.signal })
      } catch {
        return
      } finally {
        clearTimeout(overdue)
      }
    }
  }

  async function connect(): Promise<void> {
    const next = new pg.Client({
      connectionString: url,
      application_name: 'berth listener',
      keepAlive: true,
      connectionTimeoutMillis: 10_000,
      query_timeout: 10_000,
    })
    next.on('notification', ({ channel, payload }) => emitter.emit(channel, payload ?? ''))
    next.on('error', onError)
    next.on('end', () => {
      if (client !== next) return
      client = null
      currentAt = -Infinity
      emitter.emit(interrupted)
      if (!closing.signal.aborted) void reconnect()
    })
    await next.connect()
    try {
      for (const channel of channels) await next.query(`LISTEN ${channel}`)
    } catch (error) {
      await next.end()
      throw error
    }
    client = next
    void ping(next)
  }

  async function reconnect(): Promise<void> {
    for (let wait = 100; !closing.signal.aborted; wait = Math.min(wait * 2, 5_000)) {
      try {
        await delay(wait, undefined, { signal: closing.signal })
        await connect()
        emitter.emit(reconnected)
        return
      } catch (error) {
        if (!closing.signal.aborted) onError(error)
      }
    }
  }

  function listen(event: string, listener: (payload: string) => void): () => void {
    emitter.on(event, listener)
    return () => emitter.off(event, listener)
  }

  await connect()
  return {
    subscribe: listen,
    onReconnected: (listener) => listen(reconnected, listener),
    onInterrupted: (listener) => listen(interrupted, listener),
    isCurrent: () => performance.now() - currentAt < currentMilliseconds,
    follow(channel, signal) {
      const ended = AbortSignal.any([signal, closing.signal])
      const merged = new EventEmitter()
      const items = on(merged, 'item', { signal: ended }) as AsyncIterable<[string | null]>
      const stops = [
        listen(channel, (payload) => merged.emit('item', payload)),
        listen(reconnected, () => merged.emit('item', null)),
      ]
      ended.addEventListener('abort', () => stops.forEach((stop) => stop()), { once: true })
      return untilAborted(items, ended)
    },
    async close() {
      closing.abort()
      await client?.end()
    },
  }
}

async function* untilAborted(
  items: AsyncIterable<[string | null]>,
  ended: AbortSignal,
): AsyncIterable<string | null> {
  try {
    for await (const [item] of items) yield item
  } catch (error) {
    if (!ended.aborted) throw error
  }
}
