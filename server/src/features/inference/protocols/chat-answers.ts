import type { TokenUsage } from '../../metering/token-usage.ts'
import { readUsageAt } from './usage.ts'
import { readOpenAiUsage } from './openai.ts'
import { InvalidResponse } from '../../../base/invalid-response.ts'

// Reads engines' chat completions for translations. Engines aren't trusted: other types count as missing.

/** A call of a function. In a stream, `arguments` is the next part, and id and name come with the first. */
export interface ChatCall {
  index: number
  id: string
  name: string
  arguments: string
}

/** A complete answer, or what a chunk adds to one. */
export interface ChatPart {
  text: string
  reasoning: string
  calls: readonly ChatCall[]
  /** null while the answer goes on */
  finishReason: string | null
  /** The stop text that ended the answer, if the engine tells */
  stopText: string | null
  /** null if the part has none */
  usage: TokenUsage | null
  /** The error that ends a stream; null for none */
  error: string | null
}

type Loose = Readonly<Record<string, unknown>>

/** Reads a chat completion. Throws if it has no answer. */
export function readChatAnswer(answer: unknown): ChatPart {
  const part = readPart(answer, 'message')
  if (part === null) throw new InvalidResponse('no answer')
  return part
}

/** Reads a chunk of a streamed chat completion. */
export function readChatChunk(chunk: unknown): ChatPart {
  const { error } = toLoose(chunk)
  const message = typeof error === 'string' ? error : toLoose(error)['message']
  return {
    ...(readPart(chunk, 'delta') ?? { ...nothing, usage: readUsage(chunk) }),
    error: error === undefined || error === null ? null : toText(message) || 'The engine failed.',
  }
}

const nothing: ChatPart = {
  text: '',
  reasoning: '',
  calls: [],
  finishReason: null,
  stopText: null,
  usage: null,
  error: null,
}

function readPart(completion: unknown, member: 'message' | 'delta'): ChatPart | null {
  const { choices } = toLoose(completion)
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined
  if (choice === undefined) return null
  const { [member]: message, finish_reason: reason, stop_reason: stopText } = toLoose(choice)
  const { content, refusal, reasoning, reasoning_content: thoughts, tool_calls: calls } = toLoose(message)
  return {
    ...nothing,
    text: toText(content) || toText(refusal),
    reasoning: toText(thoughts) || toText(reasoning),
    calls: Array.isArray(calls) ? calls.map(readCall) : [],
    finishReason: typeof reason === 'string' ? reason : null,
    stopText: typeof stopText === 'string' ? stopText : null,
    usage: readUsage(completion),
  }
}

function readCall(call: unknown, position: number): ChatCall {
  const { index, id, function: called } = toLoose(call)
  const { name, arguments: given } = toLoose(called)
  return {
    index: typeof index === 'number' ? index : position,
    id: toText(id),
    name: toText(name),
    arguments: toText(given),
  }
}

function readUsage(completion: unknown): TokenUsage | null {
  return readUsageAt(completion, ['usage'], readOpenAiUsage)
}

function toLoose(value: unknown): Loose {
  return typeof value === 'object' && value !== null ? (value as Loose) : {}
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
