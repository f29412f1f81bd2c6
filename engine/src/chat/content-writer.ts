import type { Token } from 'node-llama-cpp'
import { toLogprobEntry } from '../model/logprobs.ts'
import type { LogprobEntry, TokenLogprob } from '../model/logprobs.ts'
import type { Slot } from '../model/sequences.ts'
import type { AnswerPiece } from './answer.ts'
import type { ChatRequest } from './chat-request.ts'
import { createStopFilter } from './stop-filter.ts'

/** Reports the content of an answer up to the first stop string. */
export interface ContentWriter {
  /** Notes a generated token and how many characters of text it completed. */
  follow: (token: Token, length: number) => void
  /** Reports content that ends at this place of the generated text. */
  write: (text: string, end: number) => void
  /** Reports what is left at the end of the answer. */
  finish: () => void
  /** The stop string that was found, after which no more content is reported; null before */
  readonly stopped: string | null
}

/** Creates a writer of content, which listens to the slot's log probabilities if the request wants them. */
export function createContentWriter(
  request: ChatRequest,
  slot: Slot,
  onPiece: (piece: AnswerPiece) => void,
): ContentWriter {
  const stops = createStopFilter([request.stop ?? []].flat())
  const wantsLogprobs = request.logprobs === true
  /** Entries of generated tokens whose text has not been reported, with the place where the text ends */
  const sampled: { entry: TokenLogprob; end: number }[] = []
  const arriving: TokenLogprob[] = []
  /** Entries of text that has not been sent */
  let unsent: LogprobEntry[] = []
  let place = 0
  if (wantsLogprobs) {
    slot.logprobs = { top: request.top_logprobs ?? 0, onToken: (entry) => arriving.push(entry) }
  }
  /** The entries of the tokens of content; those of thoughts and calls before it are dropped. */
  const takeLogprobs = (start: number, end: number): LogprobEntry[] => {
    const taken: LogprobEntry[] = []
    while (sampled.length > 0 && sampled[0]!.end <= end) {
      const { entry, end: entryEnd } = sampled.shift()!
      if (entryEnd > start) taken.push(toLogprobEntry(entry, slot.sequence.model))
    }
    return taken
  }
  const send = (text: string): void => {
    if (text === '' && unsent.length === 0) return
    onPiece({ type: 'content', text, ...(unsent.length === 0 ? {} : { logprobs: unsent }) })
    unsent = []
  }
  return {
    get stopped() {
      return stops.stopped
    },
    follow(token, length) {
      place += length
      if (!wantsLogprobs) return
      const at = arriving.findIndex((entry) => entry.token === token)
      if (at >= 0) sampled.push({ entry: arriving.splice(0, at + 1)[at]!, end: place })
    },
    write(text, end) {
      unsent.push(...takeLogprobs(end - text.length, end))
      const ready = stops.push(text)
      if (ready !== '') send(ready)
    },
    finish() {
      const rest = stops.flush()
      if (stops.stopped !== null) unsent = []
      send(rest)
    },
  }
}
