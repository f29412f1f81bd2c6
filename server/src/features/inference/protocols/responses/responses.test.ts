import { expect, test } from 'vitest'
import type { CallerEvent } from '../protocol.ts'
import { ChatStream } from '../chat-stream.ts'
import { ResponseEvents } from './response-events.ts'
import { responses } from './responses.ts'
import { toChat } from './to-chat.ts'
import { toChatName, toChatTools } from './tools-to-chat.ts'

const chunk = (delta: object, more: object = {}) => ({ choices: [{ index: 0, delta, ...more }] })
const call = (index: number, part: object) => chunk({ tool_calls: [{ index, ...part }] })
const facts = { echo: { model: 'mine' }, functions: new Map([['n__go', { name: 'go', namespace: 'n' }]]) }

function translate(chunks: readonly unknown[]): CallerEvent[] {
  const events = new ChatStream(new ResponseEvents(facts))
  const used = { inputTokens: 7, outputTokens: 5 }
  return [...chunks.flatMap((each) => events.take(each, null)), ...events.finish(used)]
}

test('chunks become items: thoughts, a message and calls, each opened and closed once', () => {
  const events = translate([
    chunk({ role: 'assistant', content: '' }),
    chunk({ reasoning: 'hm' }),
    chunk({ content: 'Hi' }),
    call(0, { id: 'c0', function: { name: 'look', arguments: '{"a"' } }),
    call(0, { function: { arguments: ':1}' } }),
    call(1, { id: 'c1', function: { name: 'n__go', arguments: '{}' } }),
    chunk({}, { finish_reason: 'tool_calls' }),
  ])
  const done = events
    .filter(({ name }) => name === 'response.output_item.done')
    .map(({ data }) => data['item'])
  expect(done).toMatchObject([
    { type: 'reasoning', content: [{ type: 'reasoning_text', text: 'hm' }] },
    { type: 'message', content: [{ type: 'output_text', text: 'Hi' }] },
    { type: 'function_call', call_id: 'c0', name: 'look', arguments: '{"a":1}' },
    { type: 'function_call', call_id: 'c1', name: 'go', namespace: 'n', arguments: '{}' },
  ])
  const added = events.filter(({ name }) => name === 'response.output_item.added')
  expect(added.map(({ data }) => data['output_index'])).toEqual([0, 1, 2, 3])
  expect(events.at(-1)).toMatchObject({
    name: 'response.completed',
    data: { response: { status: 'completed', output: done, usage: { total_tokens: 12 } } },
  })
})

test('an error in a stream fails the response, and nothing follows', () => {
  const events = translate([
    chunk({ content: 'a' }),
    { error: { message: 'no memory' } },
    chunk({ content: 'b' }),
  ])
  expect(events.at(-1)).toMatchObject({
    name: 'response.failed',
    data: { response: { status: 'failed', error: { code: 'server_error', message: 'no memory' } } },
  })
})

test('an answer without end breaks before it fills the memory', () => {
  const events = new ChatStream(new ResponseEvents(facts))
  const long = chunk({ content: 'x'.repeat(2 ** 20) })
  expect(() => {
    for (let count = 0; count < 9; count += 1) events.take(long, null)
  }).toThrow('too long')
})

test('calls of one turn and the text before them are one message of the chat', () => {
  const item = (id: string) => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' })
  const asked = {
    model: 'm',
    input: [
      { role: 'assistant', content: [{ type: 'output_text', text: 'Let me look.' }] },
      item('a'),
      item('b'),
    ],
  }
  const { body } = toChat(asked, { contextTokens: null, seesImages: false })
  expect(body['messages']).toMatchObject([
    { role: 'assistant', content: 'Let me look.', tool_calls: [{ id: 'a' }, { id: 'b' }] },
  ])
})

test('functions in namespaces have names that a chat accepts, the same each time', () => {
  const name = (namespace: string | null, inner = 'get') => toChatName({ name: inner, namespace })
  expect(name(null, 'any name')).toBe('any name')
  expect(name('crm')).toBe('crm__get')
  for (const namespace of ['x'.repeat(80), 'city.info']) {
    expect(name(namespace)).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
    expect(name(namespace)).toBe(name(namespace))
    expect(name(namespace)).not.toBe(name(namespace, 'set'))
  }
  expect(name('a.b')).not.toBe(name('a_b'))
})

test('tool_choice allowed_tools names the functions of the chat', () => {
  const inner = { type: 'function', name: 'get' }
  const tool_choice = { type: 'allowed_tools', mode: 'required', tools: [{ ...inner, namespace: 'crm' }] }
  const { members } = toChatTools({
    tools: [{ type: 'namespace', name: 'crm', tools: [inner] }],
    tool_choice,
  })
  expect(members['tool_choice']).toEqual({
    type: 'allowed_tools',
    allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'crm__get' } }] },
  })
})

test('the usage of an engine’s own responses', () => {
  const usage = { input_tokens: 9, output_tokens: 2, input_tokens_details: { cached_tokens: 4 } }
  const expected = { inputTokens: 9, outputTokens: 2, cachedTokens: 4 }
  expect(responses.bodies.readUsage(usage)).toEqual(expected)
  expect(responses.events!.readUsage({ type: 'response.completed', response: { usage } })).toEqual(expected)
  expect(responses.events!.readUsage({ type: 'response.created', response: { usage: null } })).toBeNull()
})
