import { isDatabaseUnavailable } from './connect.ts'
import type { Channel, Notifications } from './notifications.ts'
import { settlesWithin } from './settles-within.ts'

/** A cache of rows that database notifications invalidate; see `createNotifiedCache`. */
export interface NotifiedCache<Value> {
  /** The cached value; undefined on a miss, or while invalidations may be missed */
  get(key: string): Value | undefined
  /** The result of one shared `load`, cached unless `null`; the last one if the database doesn't respond. */
  load(key: string, load: () => Promise<Loaded<Value> | null>): Promise<Value | null>
  size(): number
  close(): void
}

export interface Loaded<Value> {
  value: Value
  /** Id of the user whose notifications invalidate the value; null for those of every user */
  userId: number | null
  /** True if it may serve after a notification while the database does not respond; default false */
  survives?: boolean
}

interface Limits {
  limit: number
  milliseconds: number
  /** A channel whose notifications every value survives */
  harmless?: Channel
}

interface Entry<Value> extends Loaded<Value> {
  /** Milliseconds on the monotonic clock */
  readAt: number
  /** A notification came or may have been missed, so only the database knows if the value is still valid. */
  distrusted: boolean
}

/** A value serves for this long after it was read while the database is unreachable. */
export const outageMilliseconds = 300_000
/** Delay before the next query to an unreachable database */
const probeMilliseconds = 500
/** A longer read doesn't delay callers that have a last value: the database or a table may be frozen. */
const patienceMilliseconds = 1_000

/**
 * Caches at most `limit` values for `milliseconds`. A notification on `channel` invalidates the values of one
 * user, and removes those that don't survive it. Without the listener's connection every value is read from
 * the database, so a revoked value lives for at most a second. If the database doesn't respond either, the
 * last value remains valid for a few minutes.
 */
export function createNotifiedCache<Value>(
  notifications: Notifications,
  channel: Channel,
  limits: Limits,
): NotifiedCache<Value> {
  return new RowCache(notifications, channel, new Entries(limits.limit), limits)
}

class RowCache<Value> implements NotifiedCache<Value> {
  readonly #notifications: Notifications
  readonly #entries: Entries<Value>
  readonly #milliseconds: number
  readonly #loading = new Map<string, Promise<Value | null>>()
  readonly #stops: readonly (() => void)[]
  // A row read before a notification arrived is not cached: it may be the changed row.
  #generation = 0
  #unreachableUntil = -Infinity
  /** Reads without a response so far: any of them shows a frozen or unreachable database */
  #silentReads = new Set<Promise<Value | null>>()

  constructor(
    notifications: Notifications,
    channel: Channel,
    entries: Entries<Value>,
    { milliseconds, harmless }: Limits,
  ) {
    this.#notifications = notifications
    this.#entries = entries
    this.#milliseconds = milliseconds
    this.#stops = [
      notifications.subscribe(channel, (payload) => this.#invalidate(payload)),
      ...(harmless === undefined
        ? []
        : [notifications.subscribe(harmless, (payload) => this.#distrustUser(Number(payload)))]),
      notifications.onInterrupted(() => this.#distrust()),
      // Notifications were missed, and the database can be asked again.
      notifications.onReconnected(() => this.#expectResponses()),
    ]
  }

  get(key: string): Value | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined || entry.distrusted || !this.#notifications.isCurrent()) return undefined
    return ageOf(entry) < this.#milliseconds ? entry.value : undefined
  }

  async load(key: string, query: () => Promise<Loaded<Value> | null>): Promise<Value | null> {
    const last = this.#getLast(key)
    if (last === undefined) return this.#share(key, query)
    if (performance.now() < this.#unreachableUntil || this.#silentReads.size > 0) return last
    const read = this.#share(key, query)
    if (await settlesWithin(read, patienceMilliseconds)) return read
    this.#silentReads.add(read)
    const answered = () => void this.#silentReads.delete(read)
    read.then(answered, answered)
    // A notification may have removed the value meanwhile.
    return this.#getLast(key) ?? read
  }

  size(): number {
    return this.#entries.size
  }

  close(): void {
    this.#clear()
    this.#stops.forEach((stop) => stop())
  }

  async #share(key: string, query: () => Promise<Loaded<Value> | null>): Promise<Value | null> {
    const shared = this.#loading.get(key)
    // While notifications may be missed, a shared read could have started before a change.
    if (shared !== undefined && this.#notifications.isCurrent()) return shared
    const own = this.#read(key, query)
    this.#loading.set(key, own)
    try {
      return await own
    } finally {
      if (this.#loading.get(key) === own) this.#loading.delete(key)
    }
  }

  async #read(key: string, query: () => Promise<Loaded<Value> | null>): Promise<Value | null> {
    const generation = this.#generation
    try {
      const loaded = await query()
      if (loaded === null) this.#revoke(key)
      else if (generation === this.#generation) {
        this.#entries.set(key, loaded, !this.#notifications.isCurrent())
      }
      return loaded?.value ?? null
    } catch (error) {
      if (!isDatabaseUnavailable(error)) {
        this.#revoke(key)
        throw error
      }
      const last = this.#getLast(key)
      if (last === undefined) throw error
      this.#unreachableUntil = performance.now() + probeMilliseconds
      return last
    }
  }

  #getLast(key: string): Value | undefined {
    const entry = this.#entries.get(key)
    return entry !== undefined && ageOf(entry) <= outageMilliseconds ? entry.value : undefined
  }

  /** Removes a value that the database no longer has. A read that started before must not bring it back. */
  #revoke(key: string): void {
    if (this.#entries.remove(key)) this.#forgetReads()
  }

  #invalidate(payload: string): void {
    if (payload === '') return this.#clear()
    this.#forgetReads()
    this.#entries.invalidateUser(Number(payload))
  }

  #distrust(): void {
    this.#forgetReads()
    this.#entries.distrust()
  }

  #distrustUser(userId: number): void {
    this.#forgetReads()
    this.#entries.distrustUser(userId)
  }

  #expectResponses(): void {
    this.#unreachableUntil = -Infinity
    this.#silentReads.clear()
    this.#distrust()
  }

  #clear(): void {
    this.#forgetReads()
    this.#entries.clear()
  }

  #forgetReads(): void {
    this.#generation += 1
    this.#loading.clear()
  }
}

function ageOf({ readAt }: { readAt: number }): number {
  return performance.now() - readAt
}

/** At most `limit` values by key, which can be removed by user too. A new value replaces the oldest one. */
class Entries<Value> {
  readonly #limit: number
  readonly #entries = new Map<string, Entry<Value>>()
  readonly #keys = new Map<number | null, Set<string>>()

  constructor(limit: number) {
    this.#limit = limit
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: string): Entry<Value> | undefined {
    return this.#entries.get(key)
  }

  set(key: string, loaded: Loaded<Value>, distrusted: boolean): void {
    this.remove(key)
    const [oldest] = this.#entries.keys()
    if (this.#entries.size >= this.#limit && oldest !== undefined) this.remove(oldest)
    this.#entries.set(key, { ...loaded, readAt: performance.now(), distrusted })
    const keys = this.#keys.get(loaded.userId)
    if (keys === undefined) this.#keys.set(loaded.userId, new Set([key]))
    else keys.add(key)
  }

  /** Returns false if there was no such value. */
  remove(key: string): boolean {
    const entry = this.#entries.get(key)
    if (entry === undefined) return false
    this.#entries.delete(key)
    const keys = this.#keys.get(entry.userId)
    keys?.delete(key)
    if (keys?.size === 0) this.#keys.delete(entry.userId)
    return true
  }

  invalidateUser(userId: number): void {
    for (const key of [...(this.#keys.get(userId) ?? []), ...(this.#keys.get(null) ?? [])]) {
      const entry = this.#entries.get(key)
      if (entry?.survives === true) entry.distrusted = true
      else this.remove(key)
    }
  }

  distrustUser(userId: number): void {
    for (const key of this.#keys.get(userId) ?? []) this.#entries.get(key)!.distrusted = true
  }

  distrust(): void {
    for (const entry of this.#entries.values()) entry.distrusted = true
  }

  clear(): void {
    this.#entries.clear()
    this.#keys.clear()
  }
}
