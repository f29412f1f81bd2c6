/** Cuts generated text at the first stop string. */
export interface StopFilter {
  /** Takes the next piece and gives back what can be shown already: all that can't be the start of a stop string. */
  push: (piece: string) => string
  /** What was held back, when the text ends without a stop string. */
  flush: () => string
  /** True once a stop string was found; nothing comes out any more. */
  readonly stopped: boolean
}

/** A filter for the given stop strings, none of them empty. */
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

/** How many of the text's last characters are the beginning of the stop string. */
function longestPartialMatch(text: string, stop: string): number {
  for (let length = Math.min(stop.length - 1, text.length); length > 0; length--) {
    if (text.endsWith(stop.slice(0, length))) return length
  }
  return 0
}
