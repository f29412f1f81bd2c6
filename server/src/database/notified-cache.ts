import { isDatabaseUnavailable } from './connect.ts'
import type { Channel, Notifications } from './notifications.ts'

/** A cache of rows that database notifications invalidate; see `createNotifiedCache`. */
export interface NotifiedCache<Value> {
  /** The cached value; undefined on a miss, or while invalidations may be missed */
  get(key: string): Value | undefined
  /**
   * The result of `load`, which is cached unless it is `null`. Concurrent callers share one load. While the database is unreachable,
   * the value that it had last.
   */
  load(key: string, load: () => Promise<Loaded<Value> | null>): Promise<Value | null>
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
  readAt: number
  /** A notification about the value may have been missed, so only the database knows if it is still valid. */
  distrusted: boolean
}

/** A value serves for this long after it was read while the database is unreachable. */
const outageMilliseconds = 300_000
/** Delay before the next query to an unreachable database */
const probeMilliseconds = 500

/**
 * Caches at most `limit` values, each for at most `milliseconds`. A notification on `channel` invalidates the values of one user. While
 * the listener's connection is lost or unresponsive, every value is read from the database, so a revoked value lives for at most a
 * second. If the database can't be asked either, the last value remains valid for a few minutes.
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
  let unreachableUntil = -Infinity

  function remove(key: string): void {
    const entry = entries.get(key)
    if (entry === undefined) return
    entries.delete(key)
    const keys = keysOf.get(entry.userId)
    keys?.delete(key)
    if (keys?.size === 0) keysOf.delete(entry.userId)
  }

  function forgetReads(): void {
    generation += 1
    loading.clear()
  }

  function clear(): void {
    forgetReads()
    entries.clear()
    keysOf.clear()
  }

  function distrust(): void {
    forgetReads()
    for (const entry of entries.values()) entry.distrusted = true
  }

  function invalidate(payload: string): void {
    if (payload === '') return clear()
    forgetReads()
    const userId = Number(payload)
    for (const key of keysOf.get(userId) ?? []) entries.delete(key)
    keysOf.delete(userId)
  }

  function store(key: string, loaded: Loaded<Value>): void {
    remove(key)
    const [oldest] = entries.keys()
    if (entries.size >= limit && oldest !== undefined) remove(oldest)
    entries.set(key, { ...loaded, readAt: performance.now(), distrusted: !notifications.isCurrent() })
    const keys = keysOf.get(loaded.userId)
    if (keys === undefined) keysOf.set(loaded.userId, new Set([key]))
    else keys.add(key)
  }

  /** Removes a value that the database no longer has. A read that started before must not bring it back. */
  function revoke(key: string): void {
    if (!entries.has(key)) return
    remove(key)
    forgetReads()
  }

  async function read(key: string, load: () => Promise<Loaded<Value> | null>): Promise<Value | null> {
    const startGeneration = generation
    try {
      const loaded = await load()
      if (loaded === null) revoke(key)
      else if (startGeneration === generation) store(key, loaded)
      return loaded?.value ?? null
    } catch (error) {
      if (!isDatabaseUnavailable(error)) {
        revoke(key)
        throw error
      }
      const last = getLast(key)
      if (last === undefined) throw error
      unreachableUntil = performance.now() + probeMilliseconds
      return last
    }
  }

  function getLast(key: string): Value | undefined {
    const entry = entries.get(key)
    return entry === undefined || performance.now() - entry.readAt > outageMilliseconds
      ? undefined
      : entry.value
  }

  const stops = [
    notifications.subscribe(channel, invalidate),
    notifications.onInterrupted(distrust),
    // Notifications were missed, and the database can be asked again.
    notifications.onReconnected(clear),
  ]
  return {
    get(key) {
      const entry = entries.get(key)
      if (entry === undefined || entry.distrusted || !notifications.isCurrent()) return undefined
      return performance.now() - entry.readAt < milliseconds ? entry.value : undefined
    },
    async load(key, load) {
      const last = performance.now() < unreachableUntil ? getLast(key) : undefined
      if (last !== undefined) return last
      const shared = loading.get(key)
      // While notifications may be missed, a shared read could have started before a change.
      if (shared !== undefined && notifications.isCurrent()) return shared
      const own = read(key, load)
      loading.set(key, own)
      try {
        return await own
      } finally {
        if (loading.get(key) === own) loading.delete(key)
      }
    },
    size: () => entries.size,
    close() {
      clear()
      stops.forEach((stop) => stop())
    },
  }
}
