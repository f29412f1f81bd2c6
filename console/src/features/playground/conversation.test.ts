import { expect, it } from 'vitest'
import { pendingAnswer } from './answer.ts'
import { toMessages } from './asking.ts'
import { findOutcome } from './conversation.ts'
import type { Turn } from './conversation.ts'

const said = (content: string) => ({ ...pendingAnswer, state: 'done' as const, content })

it('sends a deployment its own answers, or another deployment’s, and omits turns without an answer', () => {
  const turns: Turn[] = [
    { id: 1, prompt: 'first', answers: { a: said('by a'), b: said('by b') } },
    { id: 2, prompt: 'second', answers: { a: said('only a') } },
    { id: 3, prompt: 'third', answers: { a: said(''), b: pendingAnswer } },
    {
      id: 4,
      prompt: 'fourth',
      answers: { b: { ...said(''), toolCalls: [{ name: 'look', arguments: '{}' }] } },
    },
  ]
  expect(toMessages(turns, 'b', ' ', 'now').map(({ content }) => content)).toEqual([
    'first',
    'by b',
    'second',
    'only a',
    'fourth',
    'look({})',
    'now',
  ])
  expect(toMessages([], 'b', 'Be brief.', 'now')[0]).toEqual({ role: 'system', content: 'Be brief.' })
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
