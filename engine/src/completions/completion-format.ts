import type { LlamaModel } from 'node-llama-cpp'
import type { UsedTokens } from '../chat/answer.ts'
import { toUsage } from '../chat/completion.ts'
import type { CompletionHead } from '../chat/completion.ts'
import { toLogprobEntry } from '../model/logprobs.ts'
import type { CompletionEnd, CompletionPiece } from './write-completion.ts'

/** Log probabilities in the format of OpenAI's completions. */
export interface CompletionLogprobs {
  tokens: string[]
  token_logprobs: (number | null)[]
  top_logprobs: (Record<string, number> | null)[]
  text_offset: number[]
}

/** Converts the pieces of one choice, in order, to OpenAI's format. */
export interface ChoiceFormatter {
  format: (piece: CompletionPiece) => { text: string; logprobs: CompletionLogprobs | null }
}

/** Creates the formatter of a choice. `wantsLogprobs` is false for null. */
export function createChoiceFormatter(model: LlamaModel, wantsLogprobs: boolean): ChoiceFormatter {
  let offset = 0
  return {
    format({ text, logprobs }) {
      if (!wantsLogprobs) return { text, logprobs: null }
      const result: CompletionLogprobs = { tokens: [], token_logprobs: [], top_logprobs: [], text_offset: [] }
      for (const { token, scores } of logprobs) {
        const entry = scores === null ? null : toLogprobEntry(scores, model)
        const name = entry === null ? model.detokenize([token], true) : entry.token
        result.tokens.push(name)
        result.token_logprobs.push(entry === null ? null : entry.logprob)
        result.top_logprobs.push(entry === null ? null : toTop(entry))
        result.text_offset.push(offset)
        offset += name.length
      }
      return { text, logprobs: result }
    },
  }
}

/** The most likely tokens and, as in OpenAI's API, the one that was generated. */
function toTop({
  token,
  logprob,
  top_logprobs: top,
}: ReturnType<typeof toLogprobEntry>): Record<string, number> {
  return Object.fromEntries([
    ...top.map((each) => [each.token, each.logprob] as const),
    [token, logprob] as const,
  ])
}

/** A completion, or a chunk of one. */
export function toCompletionBody(head: CompletionHead, choices: readonly unknown[], used?: UsedTokens) {
  return {
    id: head.id,
    object: 'text_completion',
    created: head.created,
    model: head.model,
    choices,
    ...(used === undefined ? {} : { usage: toUsage(used) }),
  }
}

/** One choice of a completion or a chunk. */
export function toCompletionChoice(
  index: number,
  part: ReturnType<ChoiceFormatter['format']>,
  reason: CompletionEnd | null,
) {
  return { index, text: part.text, logprobs: part.logprobs, finish_reason: reason }
}

/** Adds up the parts of a choice. */
export function joinLogprobs(parts: readonly (CompletionLogprobs | null)[]): CompletionLogprobs | null {
  const known = parts.filter((part) => part !== null)
  if (known.length === 0) return null
  return {
    tokens: known.flatMap((part) => part.tokens),
    token_logprobs: known.flatMap((part) => part.token_logprobs),
    top_logprobs: known.flatMap((part) => part.top_logprobs),
    text_offset: known.flatMap((part) => part.text_offset),
  }
}
