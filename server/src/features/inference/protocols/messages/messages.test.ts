import { expect, test } from 'vitest'
import type { CallerEvent } from '../protocol.ts'
import { readAnthropicUsage } from './anthropic.ts'
import { ChatStream } from '../chat-stream.ts'
import { MessageEvents } from './message-events.ts'
import { messages } from './messages.ts'
import { toChat } from './to-chat.ts'
import { toMessage } from './to-message.ts'

const chunk = (delta: object, more: object = {}) => ({ choices: [{ index: 0, delta, ...more }] })
const call = (index: number, part: object) => chunk({ tool_calls: [{ index, ...part }] })

const sees = { contextTokens: null, seesImages: true }

const begun = { inputTokens: 7, outputTokens: 1, cachedTokens: 3 }
const used = { ...begun, outputTokens: 5 }

/** The events of a stream, without ids. */
function translate(chunks: readonly unknown[], wantsThoughts = true): CallerEvent[] {
  const events = new ChatStream(new MessageEvents({ model: 'mine', wantsThoughts }))
  return [...chunks.flatMap((each) => events.take(each, begun)), ...events.finish(used)]
}

const describeEvent = ({ data }: CallerEvent) =>
  [data['type'], data['index'], data['content_block'] ?? data['delta']].filter((part) => part !== undefined)

const story = [
  chunk({ role: 'assistant', content: '' }),
  chunk({ reasoning_content: 'hm' }),
  chunk({ content: 'Hi' }),
  chunk({ content: ' you' }),
  call(0, { id: 'c0', function: { name: 'look', arguments: '' } }),
  call(0, { function: { arguments: '{"a"' } }),
  call(0, { function: { arguments: ':1}' } }),
  call(1, { id: 'c1', function: { name: 'go', arguments: '{}' } }),
  chunk({}, { finish_reason: 'tool_calls' }),
]

test('chunks become the blocks of a message, each opened and closed once', () => {
  const events = translate(story)
  expect(events[0]).toMatchObject({
    name: 'message_start',
    data: { message: { model: 'mine', content: [], usage: { input_tokens: 4, cache_read_input_tokens: 3 } } },
  })
  expect(events.slice(1, -2).map(describeEvent)).toEqual([
    ['content_block_start', 0, { type: 'thinking', thinking: '', signature: '' }],
    ['content_block_delta', 0, { type: 'thinking_delta', thinking: 'hm' }],
    ['content_block_delta', 0, { type: 'signature_delta', signature: '' }],
    ['content_block_stop', 0],
    ['content_block_start', 1, { type: 'text', text: '' }],
    ['content_block_delta', 1, { type: 'text_delta', text: 'Hi' }],
    ['content_block_delta', 1, { type: 'text_delta', text: ' you' }],
    ['content_block_stop', 1],
    ['content_block_start', 2, { type: 'tool_use', id: 'c0', name: 'look', input: {} }],
    ['content_block_delta', 2, { type: 'input_json_delta', partial_json: '{"a"' }],
    ['content_block_delta', 2, { type: 'input_json_delta', partial_json: ':1}' }],
    ['content_block_stop', 2],
    ['content_block_start', 3, { type: 'tool_use', id: 'c1', name: 'go', input: {} }],
    ['content_block_delta', 3, { type: 'input_json_delta', partial_json: '{}' }],
    ['content_block_stop', 3],
  ])
  expect(events.at(-2)!.data).toEqual({
    type: 'message_delta',
    delta: { stop_reason: 'tool_use', stop_sequence: null },
    usage: {
      input_tokens: 4,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 3,
      output_tokens: 5,
    },
  })
  expect(events.at(-1)!.name).toBe('message_stop')
})

test('a request without thinking gets no thoughts', () => {
  expect(JSON.stringify(translate(story, false))).not.toContain('thinking')
})

test('a stream holds nothing of the text that it has translated', () => {
  const events = new ChatStream(new MessageEvents({ model: 'mine', wantsThoughts: false }))
  for (let count = 0; count < 1_000; count += 1) events.take(chunk({ content: 'x'.repeat(1_000) }), null)
  expect(JSON.stringify(events).length).toBeLessThan(500)
})

test.each([[{ error: { message: 'no memory' } }], [{ error: 'no memory' }]])(
  'the error %j in a stream becomes an error event, and nothing follows',
  (error) => {
    const events = translate([chunk({ content: 'a' }), error, chunk({ content: 'b' })])
    expect(events.at(-1)).toEqual({
      name: 'error',
      data: { type: 'error', error: { type: 'api_error', message: 'no memory' } },
    })
  },
)

test('calls that an engine mixes up break the response', () => {
  const mixed = [story[4], story[7], story[5]]
  expect(() => translate(mixed)).toThrow('the engine continued a call that has ended')
})

test('why a message ended', () => {
  const stop = (choice: object) => {
    const answer = { choices: [{ message: { content: 'a' }, ...choice }] }
    const { stop_reason: reason, stop_sequence: text } = toMessage(answer, {
      model: 'm',
      wantsThoughts: false,
    })
    return [reason, text]
  }
  expect(stop({ finish_reason: 'stop' })).toEqual(['end_turn', null])
  expect(stop({ finish_reason: 'length' })).toEqual(['max_tokens', null])
  expect(stop({ finish_reason: 'stop', stop_reason: '###' })).toEqual(['stop_sequence', '###'])
  const tool_calls = [{ id: 'c', function: { name: 'f', arguments: 'no json' } }]
  expect(stop({ finish_reason: 'stop', message: { content: null, tool_calls } })).toEqual(['tool_use', null])
  expect(() => toMessage({}, { model: 'm', wantsThoughts: false })).toThrow('no answer')
})

test('messages become a chat: results of tools follow their calls, images and documents find their place', () => {
  const given = {
    model: 'm',
    max_tokens: 5,
    system: [
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
    ],
    messages: [
      { role: 'user', content: 'q' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: '…' },
          { type: 'text', text: 'x' },
          { type: 'tool_use', id: 't', name: 'f', input: { url: 'http://any' } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'and' },
          {
            type: 'tool_result',
            tool_use_id: 't',
            content: [
              { type: 'text', text: 'r' },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA' } },
            ],
          },
          { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'doc' } },
        ],
      },
    ],
    tools: [{ name: 'f', input_schema: { type: 'object' } }],
    tool_choice: { type: 'tool', name: 'f', disable_parallel_tool_use: true },
    stop_sequences: ['s'],
    stream: true,
    store: true,
  }
  expect(toChat(given, sees).body).toEqual({
    model: 'm',
    max_tokens: 5,
    messages: [
      { role: 'system', content: 'a\n\nb' },
      { role: 'user', content: 'q' },
      {
        role: 'assistant',
        content: 'x',
        reasoning_content: '…',
        reasoning: '…',
        tool_calls: [
          { id: 't', type: 'function', function: { name: 'f', arguments: '{"url":"http://any"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 't', content: 'r' },
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } },
          { type: 'text', text: 'and' },
          { type: 'text', text: 'doc' },
        ],
      },
    ],
    tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }],
    tool_choice: { type: 'function', function: { name: 'f' } },
    parallel_tool_calls: false,
    stop: ['s'],
    stream: true,
    stream_options: { include_usage: true },
  })
})

test('the usage of an engine’s own messages: cached tokens are apart, and events have it in parts', () => {
  const usage = { input_tokens: 4, cache_read_input_tokens: 6, output_tokens: 2 }
  expect(readAnthropicUsage(usage)).toEqual({ inputTokens: 10, outputTokens: 2, cachedTokens: 6 })
  const { readUsage } = messages.events!
  expect(readUsage({ type: 'message_start', message: { usage } })).toEqual({
    inputTokens: 10,
    cachedTokens: 6,
  })
  expect(readUsage({ type: 'message_delta', usage: { output_tokens: 2 } })).toEqual({ outputTokens: 2 })
})
