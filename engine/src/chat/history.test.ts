import { expect, test } from 'vitest'
import { parseBody } from '../base/parse-body.ts'
import { chatRequestBody } from './chat-request.ts'
import { toHistory } from './history.ts'
import { toToolRequest } from './legacy-functions.ts'

const historyOf = (messages: unknown) =>
  toHistory(toToolRequest(parseBody(chatRequestBody, { model: 'm', messages })).messages)

test('keeps the turns and ends with the answer to generate', () => {
  expect(
    historyOf([
      { role: 'developer', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
      { role: 'assistant', content: 'c' },
      { role: 'user', content: 'd' },
    ]),
  ).toEqual([
    { type: 'system', text: 'Be brief.' },
    { type: 'user', text: 'ab' },
    { type: 'model', response: ['c'] },
    { type: 'user', text: 'd' },
    { type: 'model', response: [] },
  ])
})

test('joins tool results with their calls', () => {
  const call = (id: string) => ({ id, type: 'function', function: { name: 'look', arguments: '{"a":1}' } })
  expect(
    historyOf([
      { role: 'user', content: 'x' },
      { role: 'assistant', content: null, tool_calls: [call('1'), call('2')] },
      { role: 'tool', tool_call_id: '2', content: 'plain' },
      { role: 'tool', tool_call_id: '1', content: '{"b":2}' },
    ]).at(-1),
  ).toEqual({
    type: 'model',
    response: [
      { type: 'functionCall', name: 'look', params: { a: 1 }, result: { b: 2 }, startsNewChunk: true },
      { type: 'functionCall', name: 'look', params: { a: 1 }, result: 'plain' },
    ],
  })
})

test.each([
  [
    'an image',
    [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] }],
    'accepts text only',
  ],
  [
    'an answer without a call',
    [{ role: 'tool', tool_call_id: '1', content: 'x' }],
    'must refer to a tool call',
  ],
  ['no messages', [], 'must hold at least one message'],
  ['an unknown role', [{ role: 'robot', content: 'x' }], 'messages.0.role'],
  [
    'arguments that are no JSON',
    [{ role: 'assistant', tool_calls: [{ id: '1', function: { name: 'a', arguments: '{' } }] }],
    'must be JSON',
  ],
])('refuses %s', (_, messages, expected) => {
  expect(() => historyOf(messages)).toThrow(expected)
})
