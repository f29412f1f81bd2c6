// Answers of the formats that agents use, shaped as vLLM sends them.

const pieces = Array.from({ length: 200 }, (_, index) => ` token ${String(index).padStart(3, '0')}`)

/** Writes server-sent events, each named after its `type`. */
function writeEvents(events: readonly ({ type: string } & Record<string, unknown>)[]): string {
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
}

const responseOf = (status: string, output: readonly object[], usage: object | null) => ({
  id: 'resp_bench',
  created_at: 1_790_000_000,
  instructions: null,
  model: 'engine',
  object: 'response',
  output,
  parallel_tool_calls: true,
  status,
  usage,
})
const responseUsage = {
  input_tokens: 200,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 200,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 400,
}
const outputOf = (text: string) => ({
  id: 'msg_bench',
  content: [{ annotations: [], text, type: 'output_text', logprobs: null }],
  role: 'assistant',
  status: 'completed',
  type: 'message',
})

/** A whole response of `/v1/responses`. */
export const composeResponse = (text: string): string =>
  JSON.stringify(responseOf('completed', [outputOf(text)], responseUsage))

/** The events of a response of 200 tokens. */
export function composeResponseEvents(): string {
  const text = pieces.join('')
  const at = { item_id: 'msg_bench', output_index: 0, content_index: 0 }
  const part = { annotations: [], text: '', type: 'output_text', logprobs: [] }
  const events = [
    { response: responseOf('in_progress', [], null), type: 'response.created' },
    { response: responseOf('in_progress', [], null), type: 'response.in_progress' },
    { item: { ...outputOf(''), content: [] }, output_index: 0, type: 'response.output_item.added' },
    { ...at, part, type: 'response.content_part.added' },
    ...pieces.map((delta) => ({ ...at, delta, logprobs: [], type: 'response.output_text.delta' })),
    { ...at, text, logprobs: [], type: 'response.output_text.done' },
    { ...at, part: { ...part, text }, type: 'response.content_part.done' },
    { item: outputOf(text), output_index: 0, type: 'response.output_item.done' },
    { response: responseOf('completed', [outputOf(text)], responseUsage), type: 'response.completed' },
  ]
  return writeEvents(events.map((event, index) => ({ ...event, sequence_number: index })))
}

const messageOf = (content: readonly object[], stopReason: string | null, usage: object) => ({
  id: 'chatcmpl-bench',
  type: 'message',
  role: 'assistant',
  content,
  model: 'engine',
  stop_reason: stopReason,
  stop_sequence: null,
  usage,
})

/** A whole message of `/v1/messages`. */
export const composeMessage = (text: string): string =>
  JSON.stringify(messageOf([{ type: 'text', text }], 'end_turn', { input_tokens: 200, output_tokens: 200 }))

/** The events of a message of 200 tokens. */
export function composeMessageEvents(): string {
  return writeEvents([
    { type: 'message_start', message: messageOf([], null, { input_tokens: 200, output_tokens: 0 }) },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ...pieces.map((text) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })),
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn' },
      usage: { input_tokens: 200, output_tokens: 200 },
    },
    { type: 'message_stop' },
  ])
}
