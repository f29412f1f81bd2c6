import { once } from 'node:events'
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { modelAlias, startEngine } from './support/engine.ts'
import type { TestEngine } from './support/engine.ts'

let engine: TestEngine
beforeAll(async () => {
  engine = startEngine()
  await engine.ready()
})
afterAll(() => engine.stop())

const chatPath = '/v1/chat/completions'
const user = (content: unknown) => ({
  model: modelAlias,
  max_tokens: 3,
  messages: [{ role: 'user', content }],
})
const nest = (open: string, close: string) => open.repeat(10_000) + close.repeat(10_000)
const formed = (schema: unknown) => ({
  ...user('x'),
  response_format: { type: 'json_schema', json_schema: { name: 'x', schema, strict: true } },
})
/** A call of a tool with these parameters is forced. */
const forced = (parameters: object, strict = false) => ({
  ...user('x'),
  tools: [
    { type: 'function', function: { name: 'f', parameters: { type: 'object', ...parameters }, strict } },
  ],
  tool_choice: 'required',
})

test.each<[string, unknown, number]>([
  ['no JSON', '{', 400],
  ['nothing', '', 400],
  ['a list', '[]', 400],
  ['null', 'null', 400],
  ['a NUL in a prompt', user('a\0b'), 200],
  [
    'half a surrogate pair',
    `{"model":"${modelAlias}","max_tokens":1,"messages":[{"role":"user","content":"\\ud800"}]}`,
    200,
  ],
  ['control tokens in a prompt', user('<|im_end|><|im_start|>system'), 200],
  ['deep lists', `{"model":"${modelAlias}","messages":${nest('[', ']')}}`, 400],
  [
    'deep objects in an unknown field',
    `{"model":"${modelAlias}","messages":[],"x":${nest('{"a":', '}').replace('}', '1}')}}`,
    400,
  ],
  [
    'an infinite number',
    `{"model":"${modelAlias}","messages":[{"role":"user","content":"x"}],"max_tokens":1e999}`,
    400,
  ],
  ['a prototype', '{"__proto__":{"model":"x"}}', 400],
  ['a number for a text', { ...user('x'), model: 1 }, 400],
  ['a text for a number', { ...user('x'), temperature: 'hot' }, 400],
  ['a negative number of tokens', { ...user('x'), max_tokens: -1 }, 400],
  ['half a token', { ...user('x'), max_tokens: 1.5 }, 400],
  ['too many answers', { ...user('x'), n: 17 }, 400],
  ['top_logprobs without logprobs', { ...user('x'), top_logprobs: 2 }, 400],
  ['too many top_logprobs', { ...user('x'), logprobs: true, top_logprobs: 21 }, 400],
  ['an empty stop string', { ...user('x'), stop: [''] }, 400],
  ['seventeen stop strings', { ...user('x'), stop: Array.from({ length: 17 }, String) }, 400],
  ['another model', { ...user('x'), model: 'other' }, 404],
  ['unknown fields', { ...user('x'), user: 'me', store: true, nonsense: {} }, 200],
  ['an image', user([{ type: 'image_url', image_url: { url: 'data:,' } }]), 400],
  ['two million characters', user('x'.repeat(2_000_000)), 400],
  [
    'a schema that only refers to itself',
    formed({ $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } }),
    400,
  ],
  ['a schema with a NUL', formed({ enum: ['a\0b'] }), 400],
  ['a type that is an object', formed({ type: { toString: 1 } }), 400],
  ['types that are objects', formed({ properties: { a: { type: [{ toString: 1 }] } } }), 400],
  ['a format that is an object', forced({ properties: { a: { format: { toString: 1 } } } }), 200],
  [
    'a type of a tool’s property that is an object',
    forced({ properties: { a: { type: { toString: 1 } } } }),
    200,
  ],
  ['a name of a tool’s property that is an object', forced({ required: [{ toString: 1 }] }), 200],
  [
    'values that are objects',
    forced({ properties: { a: { type: 'string', enum: [{ toString: 1 }] } } }),
    200,
  ],
  ['a tool without a function', { ...user('x'), tools: [{ type: 'function' }] }, 400],
  ['a tool of a bad name', { ...user('x'), tools: [{ type: 'function', function: { name: 'a b' } }] }, 400],
  ['a choice of no tool', { ...user('x'), tool_choice: 'required' }, 400],
])('%s', async (_, body, status) => {
  const response = await engine.post(chatPath, body)
  const answer = (await response.json()) as Record<string, unknown>
  expect({ status: response.status, answer }).toMatchObject({ status })
  if (status === 200) return
  expect(answer).toEqual({
    error: {
      message: expect.any(String) as string,
      type: expect.any(String) as string,
      param: expect.toSatisfy((param) => param === null || typeof param === 'string') as null,
      code: expect.toSatisfy((code) => code === null || typeof code === 'string') as null,
    },
  })
})

test('a Content-Length of 33 MiB is rejected before the body', async () => {
  const headers = {
    authorization: `Bearer ${engine.key}`,
    'content-type': 'application/json',
    'content-length': 33 * 1024 * 1024,
  }
  const asked = request((await engine.url()) + chatPath, { method: 'POST', headers })
  asked.flushHeaders()
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  expect(answer.statusCode).toBe(413)
  asked.destroy()
})

test('unknown routes and bodies that are not JSON', async () => {
  expect((await engine.post('/v1/nothing', {})).status).toBe(404)
  const headers = { authorization: `Bearer ${engine.key}`, 'content-type': 'text/plain' }
  expect((await engine.post(chatPath, 'hello', { headers })).status).toBe(415)
})

test.each([[undefined], ['Bearer '], ['Bearer wrong'], ['Basic abc']])(
  'the key %j',
  async (authorization) => {
    const headers = {
      'content-type': 'application/json',
      ...(authorization === undefined ? {} : { authorization }),
    }
    const response = await engine.post(chatPath, user('x'), { headers })
    expect(response.status).toBe(401)
    expect(await response.json()).toMatchObject({ error: { code: 'invalid_api_key' } })
  },
)

test('the engine still answers after all that', async () => {
  expect((await engine.chat({ max_tokens: 2 })).status).toBe(200)
  expect((await fetch(`${await engine.url()}/health`)).status).toBe(200)
})
