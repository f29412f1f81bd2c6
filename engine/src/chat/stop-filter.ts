/** Cuts generated text at the first stop string. */
export interface StopFilter {
  /** Adds text and returns the part that cannot be the start of a stop string. */
  push: (piece: string) => string
  /** Returns the text held back, when generation ends without a stop string. */
  flush: () => string
  /** True after a stop string; no more text is returned */
  readonly stopped: boolean
}

/** Creates a filter for non-empty stop strings. */
export function createStopFilter(stops: readonly string[]): StopFilter {
  let held = ''
  let stopped = false
  return {
    get stopped() {
      return stopped
    },
    push(piece) {
      if (stopped) return ''
      const text = held + piece
      const found = stops.map((stop) => text.indexOf(stop)).filter((index) => index >= 0)
      if (found.length > 0) {
        stopped = true
        held = ''
        return text.slice(0, Math.min(...found))
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
