import { expect, test } from 'vitest'
import { parseBody } from '../base/parse-body.ts'
import { chatRequestBody } from './chat-request.ts'
import { adaptRoles, toTemplateMessages } from './history.ts'
import { toToolRequest } from './legacy-functions.ts'

const template = { mentions: () => false, toArguments: (text: string): unknown => text }
const historyOf = (messages: unknown) =>
  toTemplateMessages(toToolRequest(parseBody(chatRequestBody, { model: 'm', messages })).messages, template)

test('keeps the turns; parts are joined, and an answer that says nothing is left out', () => {
  const parts = [
    { type: 'text', text: 'a' },
    { type: 'text', text: 'b' },
  ]
  expect(
    historyOf([
      { role: 'developer', content: 'Be brief.' },
      { role: 'user', content: parts },
      { role: 'assistant', content: '' },
      { role: 'assistant', content: 'c' },
    ]),
  ).toEqual([
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'ab' },
    { role: 'assistant', content: 'c' },
  ])
})

test('texts of results and arguments stay as they were sent, and results get the name of their function', () => {
  const arguments_ = '{"n": 2512292042121000001, "2": 1, "1": 10.00}'
  const call = { id: '1', type: 'function', function: { name: 'look', arguments: arguments_ } }
  expect(
    historyOf([
      { role: 'assistant', content: null, tool_calls: [call], reasoning_content: 'hm' },
      { role: 'tool', tool_call_id: '1', content: '10.00\n"x"' },
    ]),
  ).toMatchObject([
    { reasoning_content: 'hm', tool_calls: [{ function: { name: 'look', arguments: arguments_ } }] },
    { role: 'tool', name: 'look', content: '10.00\n"x"' },
  ])
})

test('a sentence replaces a picture in an earlier message and in the result of a tool', () => {
  const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } }
  const note = '[a part of the type "image_url" that this model can\'t read]'
  const call = { id: '1', type: 'function', function: { name: 'look', arguments: '{}' } }
  const history = historyOf([
    { role: 'user', content: [{ type: 'text', text: 'See: ' }, picture] },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: '1', content: [picture] },
  ])
  expect(history.map(({ content }) => content)).toEqual([`See: ${note}`, '', note])
})

test('neighbours of one role are joined, and a system text moves where the template takes it', () => {
  const messages = [
    { role: 'user', content: 'a' },
    { role: 'user', content: 'b' },
    { role: 'assistant', content: 'c' },
    { role: 'system', content: 's' },
    { role: 'user', content: 'd' },
  ]
  expect(adaptRoles(messages, true).map(({ role, content }) => [role, content])).toEqual([
    ['system', 's'],
    ['user', 'a\n\nb'],
    ['assistant', 'c'],
    ['user', 'd'],
  ])
  expect(adaptRoles(messages, false)[0]).toEqual({ role: 'user', content: 's\n\na\n\nb' })
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
