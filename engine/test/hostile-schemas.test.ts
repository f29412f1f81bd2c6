import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { combineTwice, hostileSchemas, properties } from '../../grammar/test/support/hostile-schemas.ts'
import { modelAlias, startEngine } from './support/engine.ts'
import type { TestEngine } from './support/engine.ts'

let engine: TestEngine
beforeAll(async () => {
  engine = startEngine()
  await engine.ready()
})
afterAll(() => engine.stop())

const messages = [{ role: 'user', content: 'x' }]
const ask = (more: object) =>
  engine.post('/v1/chat/completions', { model: modelAlias, max_tokens: 2, messages, ...more })
const formed = (schema: object) => ({
  response_format: { type: 'json_schema', json_schema: { name: 'x', schema, strict: true } },
})
const pickDefinitions = (schema: { $defs?: object }) =>
  schema.$defs === undefined ? {} : { $defs: schema.$defs }
const forced = (schema: object, strict: boolean) => ({
  tools: [
    {
      type: 'function',
      function: {
        name: 'f',
        parameters: { ...properties(1, () => schema), ...pickDefinitions(schema) },
        strict,
      },
    },
  ],
  tool_choice: 'required',
})
const [, , costly] = hostileSchemas[0]!

describe.each(hostileSchemas)('%s', (_name, keyword, schema) => {
  test.each([
    ['the schema of an answer', formed(schema), 'response_format.json_schema.schema'],
    ['a strict tool', forced(schema, true), 'tools.0.function.parameters'],
  ])('%s: a 400 names the keyword or the length', async (_place, more, param) => {
    const response = await ask(more)
    const { error } = (await response.json()) as { error: { message: string; param: string } }
    expect([response.status, error.param]).toEqual([400, param])
    expect(error.message).toMatch(new RegExp(`"${keyword}"|has \\d+ characters`))
  })

  test('a tool that is not strict is called all the same', async () => {
    expect((await ask(forced(schema, false))).status).toBe(200)
  })
})

test('references that combine others twice are quick', async () => {
  const schema = combineTwice(
    29,
    properties(1, () => ({ type: 'string' })),
  )
  expect((await ask(formed(schema))).status).toBe(200)
})

test('others are answered while a schema is converted', async () => {
  const ended: string[] = []
  const slow = ask(formed(costly)).then(() => ended.push('schema'))
  const url = await engine.url()
  const quick = fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${engine.key}` } })
  await quick.then(() => ended.push('models'))
  await slow
  expect(ended).toEqual(['models', 'schema'])
})
