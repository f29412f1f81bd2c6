import type { Answer, ToolCall } from './answer.ts'

/** The fields of OpenAI's chat completion chunk that the playground reads. Engines may omit any of them. */
export interface ChatChunk {
  choices?:
    | {
        delta?: {
          content?: string | null
          /** vLLM */
          reasoning?: string | null
          /** llama.cpp, Xinference and old versions of vLLM */
          reasoning_content?: string | null
          tool_calls?: ToolCallPiece[] | null
        } | null
        finish_reason?: string | null
      }[]
    | null
  usage?: { prompt_tokens?: number; completion_tokens?: number } | null
}

interface ToolCallPiece {
  index?: number
  /** In the first piece of a call */
  id?: string | null
  function?: { name?: string; arguments?: string }
}

/** Adds a chunk that arrived `afterMs` milliseconds after the request. */
export function addChunk(answer: Answer, chunk: ChatChunk, afterMs: number): Answer {
  const choice = chunk.choices?.[0]
  const { content, reasoning_content: formerReasoning, tool_calls: calls } = choice?.delta ?? {}
  // Some engines send both fields, with the same text.
  const reasoning = choice?.delta?.reasoning ?? formerReasoning
  const finishReason = choice?.finish_reason ?? answer.finishReason
  const usage = chunk.usage
    ? {
        promptTokens: chunk.usage.prompt_tokens ?? 0,
        completionTokens: chunk.usage.completion_tokens ?? 0,
      }
    : answer.usage
  if (!content && !reasoning && !calls?.length) return { ...answer, finishReason, usage }
  return {
    ...answer,
    state: 'streaming',
    content: answer.content + (content ?? ''),
    reasoning: answer.reasoning + (reasoning ?? ''),
    toolCalls: (calls ?? []).reduce(addToolCall, answer.toolCalls),
    finishReason,
    chunkCount: answer.chunkCount + 1,
    usage,
    firstTokenMs: answer.firstTokenMs ?? afterMs,
    lastTokenMs: afterMs,
  }
}

function addToolCall(
  calls: readonly ToolCall[],
  { index = 0, id, function: called }: ToolCallPiece,
): readonly ToolCall[] {
  // An arbitrary index from the engine must not create a sparse array.
  const at = Math.min(Math.max(Math.trunc(index), 0), calls.length)
  const known = calls[at] ?? { id: '', name: '', arguments: '' }
  return [...calls.slice(0, at), join(known, id, called), ...calls.slice(at + 1)]
}

function join(call: ToolCall, id: ToolCallPiece['id'], piece: ToolCallPiece['function'] = {}): ToolCall {
  return {
    id: call.id || (id ?? ''),
    name: call.name + (piece.name ?? ''),
    arguments: call.arguments + (piece.arguments ?? ''),
  }
}
