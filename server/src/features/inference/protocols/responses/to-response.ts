import { randomUUID } from 'node:crypto'
import type { TokenUsage } from '../../../metering/token-usage.ts'
import { readChatAnswer } from '../chat-answers.ts'
import type { ChatPart } from '../chat-answers.ts'
import type { JsonObject } from '../protocol.ts'
import { readCustomInput } from './tools-to-chat.ts'
import type { CalledFunction } from './tools-to-chat.ts'

/** What of a request its response depends on. */
export interface ResponseFacts {
  /** Members that the response repeats */
  echo: JsonObject
  /** The functions in namespaces and custom tools, by their names in the chat */
  functions: ReadonlyMap<string, CalledFunction>
}

/** The request's members that its response repeats, without tools and instructions, which may be long. */
export function toEcho(request: JsonObject): JsonObject {
  return {
    model: request['model'],
    max_output_tokens: request['max_output_tokens'] ?? null,
    metadata: request['metadata'] ?? {},
    parallel_tool_calls: request['parallel_tool_calls'] ?? true,
    temperature: request['temperature'] ?? null,
    text: request['text'] ?? { format: { type: 'text' } },
    tool_choice: request['tool_choice'] ?? 'auto',
    top_p: request['top_p'] ?? null,
  }
}

/** Translates a whole chat completion to a response. */
export function toResponse(answer: unknown, facts: ResponseFacts): JsonObject {
  const part = readChatAnswer(answer)
  const { status } = toEnd(part.finishReason)
  const output = [
    ...(part.reasoning === '' ? [] : [toReasoningItem(createItemId('rs'), part.reasoning, 'completed')]),
    ...(part.text === '' && part.calls.length > 0
      ? []
      : [toMessageItem(createItemId('msg'), part.text, status)]),
    ...part.calls.map((call) =>
      toCallItem({ ...call, id: createCallId(call.name, facts), callId: call.id }, facts, status),
    ),
  ]
  return { ...openResponse(facts), ...closeResponse(part, output) }
}

/** An id in OpenAI's form. */
export function createItemId(prefix: string): string {
  return `${prefix}_${randomUUID().replaceAll('-', '')}`
}

/** The id of an item that calls this function of the chat. */
export function createCallId(name: string, { functions }: ResponseFacts): string {
  return createItemId(functions.get(name)?.isCustom === true ? 'ctc' : 'fc')
}

/** A response that has no output yet. */
export function openResponse({ echo }: ResponseFacts): JsonObject {
  return {
    id: createItemId('resp'),
    object: 'response',
    created_at: Math.floor(Date.now() / 1000),
    status: 'in_progress',
    background: false,
    error: null,
    incomplete_details: null,
    instructions: null,
    output: [],
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    store: false,
    tools: [],
    truncation: 'disabled',
    usage: null,
    ...echo,
  }
}

/** What the end of an answer changes in its response. */
export function closeResponse(
  { finishReason, usage }: Pick<ChatPart, 'finishReason' | 'usage'>,
  output: readonly JsonObject[],
): JsonObject {
  return { ...toEnd(finishReason), output, usage: toResponseUsage(usage) }
}

/** The status of a response, and of the item that ends it. */
export function toEnd(finishReason: string | null): {
  status: ItemStatus
  incomplete_details: JsonObject | null
} {
  if (finishReason === 'length') {
    return { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
  }
  if (finishReason === 'content_filter') {
    return { status: 'incomplete', incomplete_details: { reason: 'content_filter' } }
  }
  return { status: 'completed', incomplete_details: null }
}

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

/** The part of a message with its text. */
export function toTextPart(text: string): JsonObject {
  return { type: 'output_text', text, annotations: [], logprobs: [] }
}

/** The message of an answer; without a text while it is open. */
export function toMessageItem(id: string, text: string | null, status: ItemStatus): JsonObject {
  return { id, type: 'message', role: 'assistant', status, content: text === null ? [] : [toTextPart(text)] }
}

/** The thoughts before an answer; without a text while they are open. */
export function toReasoningItem(id: string, text: string | null, status: ItemStatus): JsonObject {
  const content = text === null ? [] : [{ type: 'reasoning_text', text }]
  return { id, type: 'reasoning', status, summary: [], content }
}

/** A call of a function or custom tool. */
export function toCallItem(
  { id, callId, name, arguments: given }: { id: string; callId: string; name: string; arguments: string },
  { functions }: ResponseFacts,
  status: ItemStatus,
): JsonObject {
  const called = functions.get(name)
  const names = {
    name: called?.name ?? name,
    ...(called === undefined || called.namespace === null ? {} : { namespace: called.namespace }),
  }
  const head = { id, call_id: callId, ...names, status }
  return called?.isCustom === true
    ? { ...head, type: 'custom_tool_call', input: given === '' ? '' : readCustomInput(given) }
    : { ...head, type: 'function_call', arguments: given }
}

/** The usage of a response. */
function toResponseUsage(usage: TokenUsage | null): JsonObject {
  const { inputTokens = 0, outputTokens = 0, cachedTokens = 0 } = usage ?? {}
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedTokens, cache_write_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: inputTokens + outputTokens,
  }
}
