import type { ChatHistoryItem, ChatModelFunctionCall, ChatModelResponse } from 'node-llama-cpp'
import { invalid } from '../base/errors.ts'
import { isTooDeep } from '../base/json-depth.ts'
import type { ChatMessage } from './chat-request.ts'

/**
 * Converts a request's messages to the history that the chat template renders. The last item is always the
 * answer to generate; it continues a final assistant message or final tool results.
 */
export function toHistory(messages: readonly ChatMessage[]): ChatHistoryItem[] {
  const history: ChatHistoryItem[] = []
  const calls = new Map<string, ChatModelFunctionCall>()
  for (const [index, message] of messages.entries()) {
    const param = `messages.${index}`
    const text = textOf(message, param)
    if (message.role === 'system' || message.role === 'developer') {
      history.push({ type: 'system', text })
    } else if (message.role === 'user') {
      history.push({ type: 'user', text })
    } else if (message.role === 'tool') {
      const call = calls.get(message.tool_call_id)
      if (call === undefined) {
        throw invalid(
          `${param}.tool_call_id`,
          'A tool message must refer to a tool call in an earlier message.',
        )
      }
      call.result = parseJson(text) ?? text
    } else {
      const response = lastResponse(history)
      if (text !== '') response.push(text)
      for (const [position, { id, function: called }] of (message.tool_calls ?? []).entries()) {
        const params = parseJson(called.arguments === '' ? '{}' : called.arguments)
        if (params === undefined) {
          const path = `${param}.tool_calls.${position}.function.arguments`
          throw invalid(path, `${path}: must be JSON.`)
        }
        const call: ChatModelFunctionCall = { type: 'functionCall', name: called.name, params, result: null }
        if (position === 0) call.startsNewChunk = true
        calls.set(id, call)
        response.push(call)
      }
    }
  }
  if (history.at(-1)?.type !== 'model') history.push({ type: 'model', response: [] })
  return history
}

function lastResponse(history: ChatHistoryItem[]): ChatModelResponse['response'] {
  const last = history.at(-1)
  if (last?.type === 'model') return last.response
  const item: ChatModelResponse = { type: 'model', response: [] }
  history.push(item)
  return item.response
}

function textOf(message: ChatMessage, param: string): string {
  const content = message.content ?? ''
  if (typeof content === 'string') return content
  return content
    .map((part, index) => {
      if (part.type === 'text' && typeof part.text === 'string') return part.text
      if (part.type === 'refusal' && typeof part.refusal === 'string') return part.refusal
      const kind = part.type.slice(0, 64)
      throw invalid(
        `${param}.content.${index}`,
        `${param}.content.${index} has the type "${kind}", but this model accepts text only.`,
        'unsupported_content',
      )
    })
    .join('')
}

/** Parses JSON. Returns undefined for invalid or too deeply nested JSON. */
function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return isTooDeep(value) ? undefined : value
  } catch {
    return undefined
  }
}
