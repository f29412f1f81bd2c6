import { afterAll, beforeAll, expect, test } from 'vitest'
import { modelAlias, startEngine } from './support/engine.ts'
import type { TestEngine } from './support/engine.ts'

let engine: TestEngine
beforeAll(async () => {
  engine = startEngine()
  await engine.ready()
})
afterAll(() => engine.stop())

/** Arrays of arrays without an end: with each, llama.cpp follows three times as many ways to read it. */
const items = { $ref: '#/$defs/list' }
const schema = {
  ...items,
  $defs: {
    list: { anyOf: [1, 2, 3].map((most) => ({ type: 'array', items, minItems: 1, maxItems: most })) },
  },
}
const messages = [{ role: 'user', content: 'x' }]
const response_format = { type: 'json_schema', json_schema: { name: 'x', schema } }

test('a token whose choice takes too long fails its request only', async () => {
  const slow = engine.chat({ model: modelAlias, messages, response_format })
  const other = engine.chat({ model: modelAlias, messages, max_tokens: 20 })
  expect((await other).status).toBe(200)
  const response = await slow
  const { error } = (await response.json()) as { error: { code: string } }
  expect([response.status, error.code]).toEqual([400, 'schema_too_complex'])
  expect((await engine.chat({ model: modelAlias, messages, max_tokens: 2 })).status).toBe(200)
})
