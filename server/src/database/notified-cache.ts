import type { Channel, Notifications } from './notifications.ts'

/** Rows kept in memory until the database says that they changed; see `createNotifiedCache`. */
export interface NotifiedCache<Value> {
  /** What is kept under a key; undefined where nothing is, or nothing that can be trusted now */
  get(key: string): Value | undefined
  /** What is kept under a key, else what `load` reads, which several callers share; `null` is not kept */
  find(key: string, load: () => Promise<Loaded<Value> | null>): Promise<Value | null>
  delete(key: string): void
  size(): number
  close(): void
}

export interface Loaded<Value> {
  value: Value
  /** Id of the user whose notifications empty it */
  userId: number
}

interface Entry<Value> extends Loaded<Value> {
  /** On the monotonic clock, milliseconds */
  until: number
}

/**
 * Keeps at most `limit` values, each for `milliseconds` at most, and gives up a user's when `channel` names the user. It is
 * empty, and stays so, while the connection that tells of changes is lost or silent, so that nothing revoked outlives a second.
 */
export function createNotifiedCache<Value>(
  notifications: Notifications,
  channel: Channel,
  { limit, milliseconds }: { limit: number; milliseconds: number },
): NotifiedCache<Value> {
  const entries = new Map<string, Entry<Value>>()
  const keysOf = new Map<number, Set<string>>()
  const loading = new Map<string, Promise<Value | null>>()
  // What was read before a notification came is not kept: the row may be the one that it told of.
  let generation = 0

  function drop(key: string, { userId }: Loaded<Value>): void {
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

  function revoke(payload: string): void {
    if (payload === '') return clear()
    generation += 1
    loading.clear()
    const userId = Number(payload)
    for (const key of keysOf.get(userId) ?? []) entries.delete(key)
    keysOf.delete(userId)
  }

  function keep(key: string, loaded: Loaded<Value>): void {
    const [oldest] = entries
    if (entries.size >= limit && oldest !== undefined) drop(...oldest)
    const previous = entries.get(key)
    if (previous !== undefined) drop(key, previous)
    entries.set(key, { ...loaded, until: performance.now() + milliseconds })
    const keys = keysOf.get(loaded.userId)
    if (keys === undefined) keysOf.set(loaded.userId, new Set([key]))
    else keys.add(key)
  }

  function get(key: string): Value | undefined {
    const entry = entries.get(key)
    if (entry === undefined || !notifications.isCurrent()) return undefined
    if (performance.now() < entry.until) return entry.value
    drop(key, entry)
    return undefined
  }

  async function read(key: string, load: () => Promise<Loaded<Value> | null>): Promise<Value | null> {
    const begun = generation
    const loaded = await load()
    if (loaded !== null && begun === generation) keep(key, loaded)
    return loaded?.value ?? null
  }

  const stops = [
    notifications.subscribe(channel, revoke),
    notifications.onInterrupted(clear),
    notifications.onReconnected(clear),
  ]
  return {
    get,
    async find(key, load) {
      const kept = get(key)
      if (kept !== undefined) return kept
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
      if (entry !== undefined) drop(key, entry)
    },
    size: () => entries.size,
    close() {
      clear()
      stops.forEach((stop) => stop())
    },
  }
}
