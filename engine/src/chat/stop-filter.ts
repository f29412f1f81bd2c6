/** Cuts generated text at the first stop string. */
export interface StopFilter {
  /** Adds text and returns the part that cannot be the start of a stop string. */
  push: (piece: string) => string
  /** Returns the text held back, when generation ends without a stop string. */
  flush: () => string
  /** The stop string that was found, after which no more text is returned; null before */
  readonly stopped: string | null
}

/** Creates a filter for non-empty stop strings. */
export function createStopFilter(stops: readonly string[]): StopFilter {
  let held = ''
  let stopped: string | null = null
  return {
    get stopped() {
      return stopped
    },
    push(piece) {
      if (stopped !== null) return ''
      const text = held + piece
      const found = stops
        .map((stop) => ({ stop, at: text.indexOf(stop) }))
        .filter(({ at }) => at >= 0)
        .toSorted((one, other) => one.at - other.at)[0]
      if (found !== undefined) {
        stopped = found.stop
        held = ''
        return text.slice(0, found.at)
      }
      const keep = Math.max(0, ...stops.map((stop) => longestPartialMatch(text, stop)))
      held = text.slice(text.length - keep)
      return text.slice(0, text.length - keep)
    },
    flush() {
      const rest = held
      held = ''
      return rest
    },
  }
}

/** Length of the longest suffix of the text that is a prefix of the stop string. */
function longestPartialMatch(text: string, stop: string): number {
  for (let length = Math.min(stop.length - 1, text.length); length > 0; length--) {
    if (text.endsWith(stop.slice(0, length))) return length
  }
  return 0
}
