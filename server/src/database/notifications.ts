import { EventEmitter, on } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import pg from 'pg'
import type { Database } from './tables.ts'

/** What the database tells every process, and what the payload is: the id of the deployment that it is about. */
export type Channel = 'deployment_due' | 'deployment_event'

const channels: readonly Channel[] = ['deployment_due', 'deployment_event']

/**
 * Notifications of PostgreSQL, as hints: one may be lost with its connection, so who listens also looks by itself, and looks
 * again at `reconnected`.
 */
export interface Notifications {
  subscribe(channel: Channel, listener: (payload: string) => void): () => void
  onReconnected(listener: () => void): () => void
  /** The payloads of a channel from this call on until the signal fires, which it must; `null` stands for a reconnection */
  follow(channel: Channel, signal: AbortSignal): AsyncIterable<string | null>
  close(): Promise<void>
}

/** Sends a notification when the transaction of `db` commits. */
export async function notify(db: Database, channel: Channel, payload: string): Promise<void> {
  await sql`SELECT pg_notify(${channel}, ${payload})`.execute(db)
}

const reconnected = 'reconnected'

/** Listens on one connection of its own, and connects again for as long as it is open. */
export async function listenToNotifications(
  url: string,
  onError: (error: unknown) => void,
): Promise<Notifications> {
  const emitter = new EventEmitter().setMaxListeners(0)
  const closing = new AbortController()
  let client: pg.Client | null = null

  async function connect(): Promise<void> {
    const next = new pg.Client({ connectionString: url, application_name: 'berth listener', keepAlive: true })
    next.on('notification', ({ channel, payload }) => emitter.emit(channel, payload ?? ''))
    next.on('error', onError)
    next.on('end', () => {
      if (client === next && !closing.signal.aborted) void reconnect()
    })
    await next.connect()
    client = next
    for (const channel of channels) await next.query(`LISTEN ${channel}`)
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
