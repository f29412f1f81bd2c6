import type { Channel, Notifications } from './notifications.ts'

/** A cache of rows that database notifications invalidate; see `createNotifiedCache`. */
export interface NotifiedCache<Value> {
  /** The cached value; undefined on a miss, or while invalidations may be missed */
  get(key: string): Value | undefined
  /** The cached value, or the result of `load`. Concurrent callers share one load. `null` is not cached. */
  find(key: string, load: () => Promise<Loaded<Value> | null>): Promise<Value | null>
  delete(key: string): void
  size(): number
  close(): void
}

export interface Loaded<Value> {
  value: Value
  /** Id of the user whose notifications invalidate the value */
  userId: number
}

interface Entry<Value> extends Loaded<Value> {
  /** Milliseconds on the monotonic clock */
  expiresAt: number
}

/**
 * Caches at most `limit` values, each for at most `milliseconds`. A notification on `channel` invalidates the values of one user. The
 * cache stays empty while the listener's connection is lost or unresponsive, so a revoked value lives for at most a second.
 */
export function createNotifiedCache<Value>(
  notifications: Notifications,
  channel: Channel,
  { limit, milliseconds }: { limit: number; milliseconds: number },
): NotifiedCache<Value> {
  const entries = new Map<string, Entry<Value>>()
  const keysOf = new Map<number, Set<string>>()
  const loading = new Map<string, Promise<Value | null>>()
  // A row read before a notification arrived is not cached: it may be the changed row.
  let generation = 0

  function remove(key: string, { userId }: Loaded<Value>): void {
    entries.delete(key)
    const keys = keysOf.get(userId)
    keys?.delete(key)
    if (keys?.size === 0) keysOf.delete(userId)
  }

  function clear(): void {
    generation += 1
    loading.clear()
    entries.clear()
    keysOf.clear()
  }

  function invalidate(payload: string): void {
    if (payload === '') return clear()
    generation += 1
    loading.clear()
    const userId = Number(payload)
    for (const key of keysOf.get(userId) ?? []) entries.delete(key)
    keysOf.delete(userId)
  }

  function store(key: string, loaded: Loaded<Value>): void {
    const [oldest] = entries
    if (entries.size >= limit && oldest !== undefined) remove(...oldest)
    const previous = entries.get(key)
    if (previous !== undefined) remove(key, previous)
    entries.set(key, { ...loaded, expiresAt: performance.now() + milliseconds })
    const keys = keysOf.get(loaded.userId)
    if (keys === undefined) keysOf.set(loaded.userId, new Set([key]))
    else keys.add(key)
  }

  function get(key: string): Value | undefined {
    const entry = entries.get(key)
    if (entry === undefined || !notifications.isCurrent()) return undefined
    if (performance.now() < entry.expiresAt) return entry.value
    remove(key, entry)
    return undefined
  }

  async function read(key: string, load: () => Promise<Loaded<Value> | null>): Promise<Value | null> {
    const startGeneration = generation
    const loaded = await load()
    if (loaded !== null && startGeneration === generation) store(key, loaded)
    return loaded?.value ?? null
  }

  const stops = [
    notifications.subscribe(channel, invalidate),
    notifications.onInterrupted(clear),
    notifications.onReconnected(clear),
  ]
  return {
    get,
    async find(key, load) {
      const cached = get(key)
      if (cached !== undefined) return cached
      if (!notifications.isCurrent()) return (await load())?.value ?? null
      const shared = loading.get(key)
      if (shared !== undefined) return shared
      const own = read(key, load)
      loading.set(key, own)
      try {
        return await own
      } finally {
        if (loading.get(key) === own) loading.delete(key)
      }
    },
    delete(key) {
      const entry = entries.get(key)
      if (entry !== undefined) remove(key, entry)
    },
    size: () => entries.size,
    close() {
      clear()
      stops.forEach((stop) => stop())
    },
  }
}
