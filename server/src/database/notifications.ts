import { EventEmitter, on } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import pg from 'pg'
import { endIfSilent } from './silent-connections.ts'
import type { Database } from './tables.ts'

/**
 * Channels of notifications. The payload is a deployment id; for `session_revoked` (a session, a role or a
 * right changed) and `deployment_changed` (targets of requests changed) a user id, or empty for all, and for
 * `viewer_renamed` (the user or an organization has another name, and no other rights) a user id.
 */
export type Channel = (typeof channels)[number]

const channels = [
  'deployment_due',
  'deployment_event',
  'session_revoked',
  'viewer_renamed',
  'deployment_changed',
] as const

/** PostgreSQL notifications. A lost connection may lose some, so listeners poll, also after a reconnect. */
export interface Notifications {
  subscribe(channel: Channel, listener: (payload: string) => void): () => void
  onReconnected(listener: () => void): () => void
  /** Called when the connection is lost. Notifications of later commits may never arrive. */
  onInterrupted(listener: () => void): () => void
  /** True if every notification committed at least 0.8 s ago has certainly arrived */
  isCurrent(): boolean
  /** Yields a channel's payloads, and `null` after a reconnect, until `signal` aborts, as it must. */
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
  const listener = new Listener(url, onError)
  await listener.connect()
  return listener
}

class Listener implements Notifications {
  readonly #url: string
  readonly #onError: (error: unknown) => void
  readonly #emitter = new EventEmitter().setMaxListeners(0)
  readonly #closing = new AbortController()
  #client: pg.Client | null = null
  #currentAt = -Infinity

  constructor(url: string, onError: (error: unknown) => void) {
    this.#url = url
    this.#onError = onError
  }

  subscribe(channel: Channel, listener: (payload: string) => void): () => void {
    return this.#listen(channel, listener)
  }

  onReconnected(listener: () => void): () => void {
    return this.#listen(reconnected, listener)
  }

  onInterrupted(listener: () => void): () => void {
    return this.#listen(interrupted, listener)
  }

  isCurrent(): boolean {
    return performance.now() - this.#currentAt < currentMilliseconds
  }

  follow(channel: Channel, signal: AbortSignal): AsyncIterable<string | null> {
    const ended = AbortSignal.any([signal, this.#closing.signal])
    const merged = new EventEmitter()
    const items = on(merged, 'item', { signal: ended }) as AsyncIterable<[string | null]>
    const stops = [
      this.subscribe(channel, (payload) => merged.emit('item', payload)),
      this.onReconnected(() => merged.emit('item', null)),
    ]
    ended.addEventListener('abort', () => stops.forEach((stop) => stop()), { once: true })
    return untilAborted(items, ended)
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#client?.end()
  }

  async connect(): Promise<void> {
    const client = new pg.Client({
      connectionString: this.#url,
      application_name: 'berth listener',
      keepAlive: true,
      connectionTimeoutMillis: 10_000,
    })
    client.on('notification', ({ channel, payload }) => this.#emitter.emit(channel, payload ?? ''))
    client.on('error', this.#onError)
    client.on('end', () => this.#handleEnd(client))
    await client.connect()
    endIfSilent(client, pingTimeoutMilliseconds)
    try {
      for (const channel of channels) await client.query(`LISTEN ${channel}`)
    } catch (error) {
      await client.end()
      throw error
    }
    this.#client = client
    void this.#ping(client)
  }

  #handleEnd(client: pg.Client): void {
    if (this.#client !== client) return
    this.#client = null
    this.#currentAt = -Infinity
    this.#emitter.emit(interrupted)
    if (!this.#closing.signal.aborted) void this.#reconnect()
  }

  async #reconnect(): Promise<void> {
    const { signal } = this.#closing
    for (let wait = 100; !signal.aborted; wait = Math.min(wait * 2, 5_000)) {
      try {
        await delay(wait, undefined, { signal })
        await this.connect()
        this.#emitter.emit(reconnected)
        return
      } catch (error) {
        if (!signal.aborted) this.#onError(error)
      }
    }
  }

  /** Pings the database: its response arrives after all notifications committed before the ping. */
  async #ping(client: pg.Client): Promise<void> {
    while (this.#client === client) {
      const sentAt = performance.now()
      try {
        await client.query('')
        if (this.#client === client) this.#currentAt = sentAt
        await delay(pingMilliseconds, undefined, { signal: this.#closing.signal })
      } catch {
        return
      }
    }
  }

  #listen(event: string, listener: (payload: string) => void): () => void {
    this.#emitter.on(event, listener)
    return () => this.#emitter.off(event, listener)
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
