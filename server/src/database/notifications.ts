import { EventEmitter, on } from 'node:events'
import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import pg from 'pg'
import type { Database } from './tables.ts'

/**
 * What the database tells every process. The payload is the id of the deployment that it is about; for `session_revoked` (a
 * session, a role or a profile changed) and `deployment_changed` (where requests go) that of the user, empty for everybody.
 */
export type Channel = 'deployment_due' | 'deployment_event' | 'session_revoked' | 'deployment_changed'

const channels: readonly Channel[] = [
  'deployment_due',
  'deployment_event',
  'session_revoked',
  'deployment_changed',
]

/**
 * Notifications of PostgreSQL, as hints: one may be lost with its connection, so who listens also looks by itself, and looks
 * again at `reconnected`.
 */
export interface Notifications {
  subscribe(channel: Channel, listener: (payload: string) => void): () => void
  onReconnected(listener: () => void): () => void
  /** Calls when the connection is lost: what was committed since then may never be told */
  onInterrupted(listener: () => void): () => void
  /** True while whatever was committed 0.8 s ago or earlier has certainly been told */
  isCurrent(): boolean
  /** The payloads of a channel from this call on until the signal fires, which it must; `null` stands for a reconnection */
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

/** Listens on one connection of its own, and connects again for as long as it is open. */
export async function listenToNotifications(
  url: string,
  onError: (error: unknown) => void,
): Promise<Notifications> {
  const emitter = new EventEmitter().setMaxListeners(0)
  const closing = new AbortController()
  let client: pg.Client | null = null
  let heardAt = -Infinity

  /** An answer on the connection tells that what was committed before the question has come. */
  async function ping(asked: pg.Client): Promise<void> {
    // oxlint-disable-next-line no-unmodified-loop-condition -- the listeners of the connection change it
    while (client === asked) {
      const sentAt = performance.now()
      const overdue = setTimeout(() => destroySocket(asked), pingTimeoutMilliseconds)
      try {
        await asked.query('')
        if (client === asked) heardAt = sentAt
        await delay(pingMilliseconds, undefined, { signal: closing.signal })
      } catch {
        return
      } finally {
        clearTimeout(overdue)
      }
    }
  }

  async function connect(): Promise<void> {
    const next = new pg.Client({ connectionString: url, application_name: 'berth listener', keepAlive: true })
    next.on('notification', ({ channel, payload }) => emitter.emit(channel, payload ?? ''))
    next.on('error', onError)
    next.on('end', () => {
      if (client !== next) return
      client = null
      heardAt = -Infinity
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
    isCurrent: () => performance.now() - heardAt < currentMilliseconds,
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

/** Ends a connection whose other side is silent, which `end` would wait for. */
function destroySocket(client: pg.Client): void {
  const { stream } = (client as unknown as { connection: { stream: Duplex } }).connection
  stream.destroy(new Error('the database did not answer the listener'))
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
