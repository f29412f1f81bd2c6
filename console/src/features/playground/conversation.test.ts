import { expect, it } from 'vitest'
import { pendingAnswer } from './answer.ts'
import { toMessages } from './asking.ts'
import { findOutcome } from './conversation.ts'
import type { Turn } from './conversation.ts'

const said = (content: string) => ({ ...pendingAnswer, state: 'done' as const, content })

const ask = (prompt: string): Turn => ({ id: 9, prompt, answers: {} })
const look = { id: 'call_1', name: 'look', arguments: '{}' }

it('sends a deployment its own answers, or another deployment’s, and omits turns without an answer', () => {
  const turns: Turn[] = [
    { id: 1, prompt: 'first', answers: { a: said('by a'), b: said('by b') } },
    { id: 2, prompt: 'second', answers: { a: said('only a') } },
    { id: 3, prompt: 'third', answers: { a: said(''), b: pendingAnswer } },
    {
      id: 4,
      prompt: 'fourth',
      answers: { b: { ...said(''), toolCalls: [look] } },
    },
  ]
  expect(toMessages(turns, 'b', ' ', ask('now')).map(({ content }) => content)).toEqual([
    'first',
    'by b',
    'second',
    'only a',
    'fourth',
    'look({})',
    'now',
  ])
  expect(toMessages([], 'b', 'Be brief.', ask('now'))[0]).toEqual({ role: 'system', content: 'Be brief.' })
})

it('sends the results of tool calls after the calls, and images after the text', () => {
  const results = { targetId: 'a', items: [{ id: 'call_1', name: 'look', content: '7 ships' }] }
  const url = 'data:image/jpeg;base64,AA=='
  const turns: Turn[] = [
    { id: 1, prompt: 'What is it?', images: [url], answers: { a: { ...said(''), toolCalls: [look] } } },
    { id: 2, prompt: '', results, answers: { a: said('A fleet.') } },
  ]
  expect(toMessages(turns, 'a', '', { id: 3, prompt: '', images: [url], answers: {} })).toEqual([
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is it?' },
        { type: 'image_url', image_url: { url } },
      ],
    },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'call_1', content: '7 ships' },
    { role: 'assistant', content: 'A fleet.' },
    { role: 'user', content: [{ type: 'image_url', image_url: { url } }] },
  ])
})

it('reports a failure before a stop, and a stop before a completed answer', () => {
  const stopped = { ...pendingAnswer, state: 'stopped' as const }
  const failed = { ...pendingAnswer, state: 'failed' as const }
  const endOf = (...turns: Turn['answers'][]) =>
    findOutcome({ turns: turns.map((answers, id) => ({ id, prompt: 'hello', answers })) })
  expect(endOf()).toBeNull()
  expect(endOf({ a: pendingAnswer })).toBeNull()
  expect(endOf({ a: failed }, { a: said('yes') })).toBe('done')
  expect(endOf({ a: said('yes'), b: stopped })).toBe('stopped')
  expect(endOf({ a: said('yes'), b: stopped, c: failed })).toBe('failed')
})
