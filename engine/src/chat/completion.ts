import { randomBytes } from 'node:crypto'
import type { LogprobEntry } from '../model/logprobs.ts'
import type { AnswerEnd, AnswerPiece, UsedTokens } from './answer.ts'

/** An id in OpenAI's format: a prefix and 24 hexadecimal digits. */
const createId = (prefix: string): string => `${prefix}${randomBytes(12).toString('hex')}`

interface ToolCall {
  id: string
  type: 'function'
  function: { name: string; arguments: string }
}

/** The fields that all chunks of a completion share. */
export interface CompletionHead {
  id: string
  created: number
  model: string
}

/** `prefix` begins the id. */
export function createHead(model: string, prefix = 'chatcmpl-'): CompletionHead {
  return { id: createId(prefix), created: Math.floor(Date.now() / 1000), model }
}

/** Collects the pieces of one choice of a non-streamed answer. */
export function createCollector() {
  let content = ''
  let reasoning = ''
  const calls: ToolCall[] = []
  const logprobs: LogprobEntry[] = []
  return {
    add: (piece: AnswerPiece): void => {
      if (piece.type === 'content') logprobs.push(...(piece.logprobs ?? []))
      if (piece.type === 'content') content += piece.text
      else if (piece.type === 'reasoning') reasoning += piece.text
      else if (piece.type === 'tool_arguments') calls[piece.index]!.function.arguments += piece.text
      else {
        const called = { name: piece.name, arguments: '' }
        calls[piece.index] = { id: createId('call_'), type: 'function', function: called }
      }
    },
    toChoice: (index: number, { finishReason, stopText }: AnswerEnd) => ({
      index,
      message: {
        role: 'assistant',
        content: content === '' && calls.length > 0 ? null : content,
        refusal: null,
        ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
        ...(calls.length === 0 ? {} : { tool_calls: calls }),
      },
      logprobs: toLogprobs(logprobs),
      finish_reason: finishReason,
      ...toStopReason(stopText),
    }),
  }
}

/** As in vLLM */
function toStopReason(stopText: string | undefined) {
  return stopText === undefined ? {} : { stop_reason: stopText }
}

function toLogprobs(content: readonly LogprobEntry[]) {
  return content.length === 0 ? null : { content, refusal: null }
}

/** A non-streamed answer. */
export function toCompletion(head: CompletionHead, choices: readonly unknown[], end: AnswerEnd) {
  return {
    id: head.id,
    object: 'chat.completion',
    created: head.created,
    model: head.model,
    choices,
    usage: toUsage(end),
  }
}

export type Choice = ReturnType<ReturnType<typeof createCollector>['toChoice']>
export type Chunk = ReturnType<typeof toChunk>

/** Token counts in OpenAI's format. */
export function toUsage({ promptTokens, completionTokens, cachedTokens }: UsedTokens) {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
  }
}

/** A chunk with a delta, a finish reason or both, of the choice with this index. */
export function toChunk(
  head: CompletionHead,
  index: number,
  delta: Record<string, unknown>,
  {
    finishReason = null,
    stopText,
    logprobs = [],
  }: {
    finishReason?: AnswerEnd['finishReason'] | null
    stopText?: string | undefined
    logprobs?: readonly LogprobEntry[]
  } = {},
) {
  return {
    id: head.id,
    object: 'chat.completion.chunk',
    created: head.created,
    model: head.model,
    choices: [
      {
        index,
        delta,
        logprobs: toLogprobs(logprobs),
        finish_reason: finishReason,
        ...toStopReason(stopText),
      },
    ],
  }
}

/** The final chunk, sent when `stream_options.include_usage` is set. */
export function toUsageChunk(head: CompletionHead, end: AnswerEnd) {
  return { ...toChunk(head, 0, {}), choices: [], usage: toUsage(end) }
}

/** A chunk with a piece of an answer. */
export function toPieceChunk(head: CompletionHead, index: number, piece: AnswerPiece) {
  return toChunk(
    head,
    index,
    toDelta(piece),
    piece.type === 'content' ? { logprobs: piece.logprobs ?? [] } : {},
  )
}

function toDelta(piece: AnswerPiece): Record<string, unknown> {
  switch (piece.type) {
    case 'content':
      return { content: piece.text }
    case 'reasoning':
      return { reasoning_content: piece.text }
    case 'tool_call': {
      const called = { name: piece.name, arguments: '' }
      return {
        tool_calls: [{ index: piece.index, id: createId('call_'), type: 'function', function: called }],
      }
    }
    case 'tool_arguments':
      return { tool_calls: [{ index: piece.index, function: { arguments: piece.text } }] }
  }
}
