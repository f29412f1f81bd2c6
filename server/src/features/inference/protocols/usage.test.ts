import { expect, test } from 'vitest'
import { chatCompletions } from './chat-completions.ts'
import { readEdgeUsage, readUsageAt } from './usage.ts'

const { bodies } = chatCompletions

test.each([
  [{ usage: { prompt_tokens: 3, completion_tokens: 4 } }, { inputTokens: 3, outputTokens: 4 }],
  [{ usage: { prompt_tokens: 3, total_tokens: 3 } }, { inputTokens: 3, outputTokens: 0 }],
  [{ usage: {} }, { inputTokens: 0, outputTokens: 0 }],
  [{ usage: null }, null],
  [{ usage: 'many' }, null],
  [{}, null],
  [null, null],
  [7, null],
  [{ usage: { prompt_tokens: -1 } }, null],
  [{ usage: { prompt_tokens: 1.5 } }, null],
  [{ usage: { prompt_tokens: '3' } }, null],
  [{ usage: { prompt_tokens: 1, completion_tokens: 2 ** 31 } }, null],
])('the usage of %j', (response, expected) => {
  expect(readUsageAt(response, bodies.usageAt, bodies.readUsage)).toEqual(expected)
})

test.each([
  ['…"}}],"usage":{"prompt_tokens":3,"completion_tokens":4}}', { inputTokens: 3, outputTokens: 4 }],
  ['"usage" : { "prompt_tokens":3,"details":{"a":"}\\"é"}},"x":null}\n', { inputTokens: 3, outputTokens: 0 }],
  ['"usage":{"prompt_tokens":3}},"kv":{"usage":null}}', { inputTokens: 3, outputTokens: 0 }],
  ['"a":"\\"usage\\":{\\"prompt_tokens\\":9}"}', null],
  ['"usage":{"prompt_tokens":', null],
  ['"usage":{"prompt_tokens":-3}}', null],
  ['"usage":[3]}', null],
  ['', null],
])('the usage at the edge %s', (edge, expected) => {
  expect(readEdgeUsage(Buffer.from(edge).toString('latin1'), bodies)).toEqual(expected)
})
