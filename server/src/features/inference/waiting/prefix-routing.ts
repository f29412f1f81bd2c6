/** A place may have so many times the mean load of all before requests go to another one. */
const boundFactor = 1.25
/** A place with fewer requests in flight is never busy. */
const fewRequests = 8

/** A place that requests can be sent to. */
export interface Place {
  readonly id: string
  /** Requests in flight, and how many it works on at the same time */
  readonly requests: number
  readonly sequences: number
  /** Tokens of the prompts in flight */
  readonly tokens: number
}

/**
 * Picks the place that belongs to a hash, unless it is too busy: then the next one in the order of this hash.
 * A place is too busy if a request would wait there and not at others, or if it has more than its share of
 * the tokens. All processes pick alike for the same places and loads. A changed place moves only its own
 * hashes: consistent hashing by highest random weight (Thaler and Ravishankar, "Using name-based mappings to
 * increase hit rates", 1998) with bounded loads (Mirrokni, Thorup and Zadimoghaddam, "Consistent hashing with
 * bounded loads", 2018). There must be at least one place.
 */
export function pickByHash<P extends Place>(hash: number, places: readonly P[]): P {
  const free = places.filter(({ requests, sequences }) => requests < sequences)
  const candidates = free.length > 0 ? free : places
  const most = (boundFactor * candidates.reduce((sum, { tokens }) => sum + tokens, 0)) / candidates.length
  let best: P | null = null
  let bestWeight = -1
  for (const place of candidates) {
    if (place.tokens > most && place.requests >= fewRequests) continue
    const weight = weigh(hash, place.id)
    if (weight > bestWeight || (weight === bestWeight && place.id < best!.id)) {
      best = place
      bestWeight = weight
    }
  }
  // One place has at most the mean.
  return best!
}

/** FNV-1a over the id from the hash's state, then MurmurHash3's last steps, which spread similar ids. */
function weigh(hash: number, id: string): number {
  let mixed = hash ^ 0x811c9dc5
  for (let index = 0; index < id.length; index += 1) {
    mixed = Math.imul(mixed ^ id.charCodeAt(index), 0x01000193)
  }
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}
