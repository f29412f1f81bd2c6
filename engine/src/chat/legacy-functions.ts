import type { ChatMessage, ChatRequest, LegacyChatRequest } from './chat-request.ts'
import type { Choice, Chunk } from './completion.ts'

/** Converts `functions`, `function_call` and their messages, which OpenAI deprecated, to tools. */
export function toToolRequest(request: LegacyChatRequest): ChatRequest {
  const { functions, function_call: choice, messages, ...rest } = request
  const converted = { ...rest, messages: messages.map(toToolMessage), usesFunctions: false }
  if (functions == null || rest.tools != null) return converted
  return {
    ...converted,
    usesFunctions: true,
    tools: functions.map((described) => ({ type: 'function', function: described })),
    tool_choice:
      typeof choice === 'object' && choice !== null ? { type: 'function', function: choice } : choice,
    parallel_tool_calls: false,
  }
}

/** A call's id is its function's name: a function message refers to the latest call of its function. */
function toToolMessage(message: LegacyChatRequest['messages'][number]): ChatMessage {
  if (message.role === 'function') {
    return { role: 'tool', tool_call_id: message.name, content: message.content ?? '' }
  }
  if (message.role !== 'assistant') return message
  const { function_call: called, ...rest } = message
  return called == null ? rest : { ...rest, tool_calls: [{ id: called.name, function: called }] }
}

/** Converts a choice that calls a tool to one that calls a function. */
export function toFunctionChoice({ message, finish_reason: reason, ...rest }: Choice): object {
  return { ...rest, message: renameCall(message), finish_reason: renameReason(reason) }
}

/** Converts a chunk of a tool call to one of a function call. */
export function toFunctionChunk(chunk: Chunk): object {
  const choices = chunk.choices.map(({ delta, finish_reason: reason, ...rest }) => {
    return { ...rest, delta: renameCall(delta), finish_reason: renameReason(reason) }
  })
  return { ...chunk, choices }
}

function renameCall(part: object): object {
  const { tool_calls: calls, ...rest } = part as { tool_calls?: { function: object }[] }
  return calls === undefined ? part : { ...rest, function_call: calls[0]!.function }
}

function renameReason(reason: string | null): string | null {
  return reason === 'tool_calls' ? 'function_call' : reason
}
