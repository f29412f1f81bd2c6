import { expect, it } from 'vitest'
import { addChunk } from './add-chunk.ts'
import type { ChatChunk } from './add-chunk.ts'
import { pendingAnswer } from './answer.ts'
import { tokensPerSecond } from './tokens-per-second.ts'

const delta = (delta: object, finish_reason: string | null = null): ChatChunk => ({
  choices: [{ delta, finish_reason }],
})
const addAll = (chunks: ChatChunk[]) =>
  chunks.reduce((answer, chunk, place) => addChunk(answer, chunk, (place + 1) * 500), pendingAnswer)

it('concatenates chunks and records when the first and the last token arrived', () => {
  const answer = addAll([
    delta({ role: 'assistant', content: '' }),
    delta({ reasoning_content: 'hm' }),
    delta({ content: 'A ' }),
    delta({ content: 'ship' }),
    delta({}, 'length'),
    { choices: [], usage: { prompt_tokens: 5, completion_tokens: 3 } },
  ])
  expect(answer).toMatchObject({
    state: 'streaming',
    content: 'A ship',
    reasoning: 'hm',
    finishReason: 'length',
    usage: { promptTokens: 5, completionTokens: 3 },
    firstTokenMs: 1_000,
    lastTokenMs: 2_000,
  })
  expect(tokensPerSecond(answer)).toBe(2)
})

it('reads reasoning from both of its fields, and once if an engine sends both', () => {
  const { content, reasoning } = addAll([
    delta({ role: 'assistant', content: '', reasoning: null }),
    delta({ reasoning: 'Let ' }),
    delta({ reasoning: 'me ', reasoning_content: 'me ' }),
    delta({ reasoning_content: 'see.', content: null }),
    delta({ content: '4' }),
  ])
  expect({ content, reasoning }).toEqual({ content: '4', reasoning: 'Let me see.' })
})

it('concatenates tool calls by index without holes', () => {
  const { toolCalls } = addAll([
    delta({ tool_calls: [{ index: 0, id: 'call_1', function: { name: 'a', arguments: '' } }] }),
    delta({ tool_calls: [{ index: 1e9, function: { name: 'b' } }] }),
    delta({ tool_calls: [{ index: 0, function: { arguments: '{}' } }, {}] }),
  ])
  expect(toolCalls).toEqual([
    { id: 'call_1', name: 'a', arguments: '{}' },
    { id: '', name: 'b', arguments: '' },
  ])
})

it('accepts chunks without any field, and has no rate when everything arrived at once', () => {
  const answer = addAll([{}, { choices: null, usage: null }, { choices: [{}] }, delta({ content: 'x' })])
  expect(answer.content).toBe('x')
  expect(tokensPerSecond(answer)).toBeNull()
})

it('has no rate for a stream that is too short to measure one', () => {
  const chunks = [
    delta({ content: 'A ' }),
    delta({ content: 'ship' }),
    { usage: { prompt_tokens: 5, completion_tokens: 53 } },
  ]
  const after = (milliseconds: number) =>
    chunks.reduce(
      (answer, chunk, place) => addChunk(answer, chunk, 263 + place * milliseconds),
      pendingAnswer,
    )
  expect(tokensPerSecond(after(7.5))).toBeNull()
  expect(tokensPerSecond(after(520))).toBe(100)
})
