import { randomUUID } from 'node:crypto'
import { readChatAnswer } from '../chat-answers.ts'
import type { ChatPart } from '../chat-answers.ts'
import { toSource } from '../json-source.ts'
import type { JsonObject } from '../protocol.ts'
import { toAnthropicUsage } from './anthropic.ts'

/** The parts of a request on which its response depends. */
export interface MessageFacts {
  /** The name of the model in the request */
  model: string
  wantsThoughts: boolean
}

/** Translates a whole chat completion to a message. */
export function toMessage(answer: unknown, { model, wantsThoughts }: MessageFacts): JsonObject {
  const part = readChatAnswer(answer)
  const { text, reasoning, calls } = part
  return {
    ...toMessageHead(model),
    content: [
      ...(wantsThoughts && reasoning !== ''
        ? [{ type: 'thinking', thinking: reasoning, signature: '' }]
        : []),
      ...(text === '' ? [] : [{ type: 'text', text }]),
      ...calls.map((call) => ({
        type: 'tool_use',
        id: call.id,
        name: call.name,
        input: toInput(call.arguments),
      })),
    ],
    ...toStop(part, calls.length > 0),
    usage: toAnthropicUsage(part.usage),
  }
}

/** The members of a message without its answer. */
export function toMessageHead(model: string): JsonObject {
  return { id: `msg_${randomUUID().replaceAll('-', '')}`, type: 'message', role: 'assistant', model }
}

const stopReasons: Readonly<Record<string, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
}

/** Why a message ended. */
export function toStop(
  { finishReason, stopText }: Pick<ChatPart, 'finishReason' | 'stopText'>,
  callsTools: boolean,
): { stop_reason: string; stop_sequence: string | null } {
  // Some engines end an answer with calls by `stop`.
  if (callsTools && finishReason !== 'length') return { stop_reason: 'tool_use', stop_sequence: null }
  if (stopText !== null) return { stop_reason: 'stop_sequence', stop_sequence: stopText }
  return { stop_reason: stopReasons[finishReason ?? 'stop'] ?? 'end_turn', stop_sequence: null }
}

/** The arguments of a call as the model wrote them. Anthropic names what is no object so. */
function toInput(text: string): unknown {
  if (text.trim() === '') return {}
  return isObject(text) ? toSource(text) : { INVALID_JSON: text }
}

function isObject(text: string): boolean {
  try {
    return text.trimStart().startsWith('{') && JSON.parse(text) !== null
  } catch {
    return false
  }
}
