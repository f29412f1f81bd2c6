import { expect, it } from 'vitest'
import { awaitedAnswer } from './answer.ts'
import { toMessages, type Turn } from './conversation.ts'

const said = (content: string) => ({ ...awaitedAnswer, state: 'done' as const, content })

it('tells a deployment its own answers, else another’s, and leaves out turns without one', () => {
  const turns: Turn[] = [
    { id: 1, prompt: 'first', answers: { a: said('by a'), b: said('by b') } },
    { id: 2, prompt: 'second', answers: { a: said('only a') } },
    { id: 3, prompt: 'third', answers: { a: said(''), b: awaitedAnswer } },
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
