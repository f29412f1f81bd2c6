import { expect, test } from 'vitest'
import { derivePrefixKey, hashOpening } from './prefix-key.ts'

const key = derivePrefixKey('a secret of the server')
const system = { role: 'system', content: 'You write "code" in \\ C.' }
const question = { role: 'user', content: [{ type: 'text', text: 'Hello "you"' }, { role: 'user' }] }
const answer = { role: 'assistant', content: 'Hi' }

function hash(messages: unknown, scope = '1 model', isText = false): number | null {
  const head = '{"model":"m","messages":'
  const body = Buffer.from(`${head}${JSON.stringify(messages)},"temperature":1}`)
  return hashOpening(key, scope, isText ? body.toString('latin1') : body, head.length)
}

test('all requests of a conversation have the same hash', () => {
  const first = hash([system, question])
  expect(first).not.toBeNull()
  expect(hash([system, question, answer, { role: 'user', content: 'And then?' }])).toBe(first)
  expect(hash([system, question, answer, { role: 'user', content: '?' }, answer, question])).toBe(first)
  expect(hash([system, question, answer], '1 model', true)).toBe(first)
})

test('conversations with another beginning, organization, model or server have another hash', () => {
  const first = hash([system, question])
  expect(hash([system, { role: 'user', content: 'Hello "you" too' }])).not.toBe(first)
  expect(hash([{ ...system, content: '' }, question])).not.toBe(first)
  expect(hash([system, question], '2 model')).not.toBe(first)
  const head = '{"messages":'
  const body = Buffer.from(`${head}${JSON.stringify([system, question])}}`)
  expect(hashOpening(derivePrefixKey('another'), '1 model', body, head.length)).not.toBe(first)
})

test('the role may stand anywhere in the message, with spaces around it', () => {
  const text = '{"messages":[ {"content":"a","x":["role"], "role" :\n"user"} , {"role":"assistant"}]}'
  const at = text.indexOf('[')
  const short = '{"messages":[ {"content":"a","x":["role"], "role" :\n"user"}]}'
  expect(hashOpening(key, '', text, at)).not.toBeNull()
  expect(hashOpening(key, '', text, at)).toBe(hashOpening(key, '', short, at))
})

test.for([
  ['a text', 'Hello'],
  ['an object', question],
  ['null', null],
  ['no messages', []],
  ['no message of a user', [system, answer, { content: { role: 'user' } }, { content: 'role', x: 'user' }]],
  ['messages in a list too deep', [[question]]],
])('%s has no hash', ([, messages]) => {
  expect(hash(messages)).toBeNull()
})

test('a long opening counts with its first 64 KiB', () => {
  const long = { role: 'system', content: 'x'.repeat(100_000) }
  expect(hash([long, question])).toBe(hash([{ ...long, content: `${long.content}y` }, answer]))
  expect(hash([long, question])).not.toBe(hash([{ ...long, content: `y${long.content}` }, question]))
})
