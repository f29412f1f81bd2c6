/**
 * Counts by key, none below zero. Zero counts stay until `sweep`: when a long-lived `Map` loses its last
 * entry, V8 allocates another table in the old generation, which only a major collection frees.
 */
export class Counts<Key> {
  readonly #counts = new Map<Key, number>()
  #total = 0

  /** The sum of all counts */
  get total(): number {
    return this.#total
  }

  get(key: Key): number {
    return this.#counts.get(key) ?? 0
  }

  add(key: Key, change: number): void {
    const before = this.get(key)
    const count = Math.max(0, before + change)
    this.#counts.set(key, count)
    this.#total += count - before
  }

  /** The keys with a count above zero */
  *keys(): Generator<Key, void> {
    for (const [key, count] of this.#counts) if (count > 0) yield key
  }

  /** Drops the keys without a count. */
  sweep(): void {
    for (const [key, count] of this.#counts) if (count === 0) this.#counts.delete(key)
  }
}

/** Counts of deployments or instances by id, to read */
export type ReadonlyCounts = Pick<Counts<string>, 'get' | 'keys' | 'total'>
