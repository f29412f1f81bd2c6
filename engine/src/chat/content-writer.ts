import type { Token } from 'node-llama-cpp'
import { toLogprobEntry } from '../model/logprobs.ts'
import type { LogprobEntry, TokenLogprob } from '../model/logprobs.ts'
import type { Slot } from '../model/sequences.ts'
import type { AnswerPiece } from './answer.ts'
import type { ChatRequest } from './chat-request.ts'
import { createStopFilter } from './stop-filter.ts'

/** A part of a generated text, and the tokens that it was made from. */
interface TextChunk {
  text: string
  tokens: readonly Token[]
}

/** Reports the content of an answer up to the first stop string. */
export interface ContentWriter {
  write: (chunk: TextChunk) => void
  /** Forgets the log probabilities of tokens that are no content. */
  skip: (tokens: readonly Token[]) => void
  /** Reports what is left at the end of the answer. */
  finish: () => void
  /** True after a stop string; no more content is reported */
  readonly stopped: boolean
}

/** Creates a writer of content, which listens to the slot's log probabilities if the request wants them. */
export function createContentWriter(
  request: ChatRequest,
  slot: Slot,
  onPiece: (piece: AnswerPiece) => void,
): ContentWriter {
  const stops = createStopFilter([request.stop ?? []].flat())
  /** Entries of generated tokens whose text has not arrived yet */
  const sampled: TokenLogprob[] = []
  /** Entries of text that has not been sent */
  let unsent: LogprobEntry[] = []
  if (request.logprobs === true) {
    slot.logprobs = { top: request.top_logprobs ?? 0, onToken: (entry) => sampled.push(entry) }
  }
  const takeLogprobs = (tokens: readonly Token[]): LogprobEntry[] =>
    tokens.flatMap((token) => {
      const index = sampled.findIndex((entry) => entry.token === token)
      return index < 0 ? [] : [toLogprobEntry(sampled.splice(0, index + 1)[index]!, slot.sequence.model)]
    })
  const send = (text: string): void => {
    if (text === '' && unsent.length === 0) return
    onPiece({ type: 'content', text, ...(unsent.length === 0 ? {} : { logprobs: unsent }) })
    unsent = []
  }
  return {
    get stopped() {
      return stops.stopped
    },
    write({ text, tokens }) {
      unsent.push(...takeLogprobs(tokens))
      const ready = stops.push(text)
      if (ready !== '') send(ready)
    },
    skip(tokens) {
      takeLogprobs(tokens)
    },
    finish() {
      const rest = stops.flush()
      if (stops.stopped) unsent = []
      send(rest)
    },
  }
}
