import Anthropic from '@anthropic-ai/sdk'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Client } from '../support/client.ts'
import { chatModel, isOutside, serveModels } from '../support/served-models.ts'
import type { ServedModels } from '../support/served-models.ts'
import type { TestServer } from '../support/server.ts'

const messages = [{ role: 'user' as const, content: 'What is 27 + 15?' }]
const weather: Anthropic.Tool = {
  name: 'get_weather',
  description: 'Get the weather of a city.',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}
const question = { role: 'user' as const, content: 'What is the weather in Paris?' }

let served: ServedModels
let server: TestServer
let client: Client
let anthropic: Anthropic
let id: string
beforeAll(async () => {
  served = await serveModels()
  ;({ server, client, id } = served)
  anthropic = new Anthropic({
    baseURL: server.url,
    authToken: 'any',
    apiKey: null,
    defaultHeaders: { cookie: client.cookie() },
    maxRetries: 0,
  })
})
afterAll(() => served.close())

const usageOf = async () => (await client.get(`/api/v1/model-deployments/${id}/usage`)).body
const asked = { model: chatModel, max_tokens: 128, temperature: 0 }

test('anthropic: messages.create answers, and is metered', async () => {
  const before = await usageOf()
  const answer = await anthropic.messages.create({
    ...asked,
    messages,
    system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
    metadata: { user_id: 'u' },
  })
  expect(answer).toMatchObject({
    id: expect.stringMatching(/^msg_/),
    type: 'message',
    role: 'assistant',
    model: chatModel,
    content: [{ type: 'text', text: expect.stringContaining('42') }],
    stop_reason: 'end_turn',
    stop_sequence: null,
  })
  const { input_tokens: fresh, cache_read_input_tokens: cached, output_tokens: output } = answer.usage
  await expect.poll(usageOf).toMatchObject({
    requests: before.requests + 1,
    input_tokens: before.input_tokens + fresh + cached!,
    output_tokens: before.output_tokens + output,
  })
})

test('anthropic: messages.stream has the events of a message and its text', async () => {
  const before = await usageOf()
  const whole = await anthropic.messages.create({ ...asked, messages })
  const stream = anthropic.messages.stream({ ...asked, messages })
  const types: string[] = []
  stream.on('streamEvent', ({ type }) => types.push(type))
  const streamed = await stream.finalMessage()
  expect(streamed.content).toMatchObject(whole.content)
  expect(streamed).toMatchObject({ model: chatModel, stop_reason: whole.stop_reason })
  const total = ({ input_tokens, cache_read_input_tokens }: Anthropic.Usage) =>
    input_tokens + cache_read_input_tokens!
  expect(total(streamed.usage)).toBe(total(whole.usage))
  expect(streamed.usage.output_tokens).toBe(whole.usage.output_tokens)
  expect(types.filter((type) => type !== 'content_block_delta')).toEqual([
    'message_start',
    'content_block_start',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ])
  await expect
    .poll(usageOf)
    .toMatchObject({ output_tokens: before.output_tokens + 2 * streamed.usage.output_tokens })
})

test('anthropic: a tool is called, also as a stream and with tool_choice, and its result is answered', async () => {
  const called = await anthropic.messages.create({ ...asked, messages: [question], tools: [weather] })
  expect(called).toMatchObject({
    stop_reason: 'tool_use',
    content: [{ type: 'tool_use', name: 'get_weather', input: { city: 'Paris' } }],
  })
  const forced = { type: 'tool' as const, name: 'get_weather' }
  const stream = anthropic.messages.stream({
    ...asked,
    messages: [question],
    tools: [weather],
    tool_choice: forced,
  })
  const streamed = await stream.finalMessage()
  expect(streamed).toMatchObject({
    stop_reason: 'tool_use',
    content: [{ type: 'tool_use', name: 'get_weather', input: { city: expect.any(String) } }],
  })
  const block = called.content[0] as Anthropic.ToolUseBlock
  const answer = await anthropic.messages.create({
    ...asked,
    tools: [weather],
    messages: [
      question,
      { role: 'assistant', content: called.content },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: block.id, content: [{ type: 'text', text: 'It is sunny.' }] },
        ],
      },
    ],
  })
  expect(answer.content[0]).toMatchObject({ type: 'text' })
})

test('anthropic: what Claude Code sends: beta, a system message, hosted tools, unknown fields', async () => {
  const body = {
    ...asked,
    max_tokens: 32_000,
    stop_sequences: ['never'],
    betas: ['claude-code-20250219'],
    thinking: { type: 'adaptive' },
    context_management: { edits: [] },
    output_config: { effort: 'high' },
    system: 'You help.',
    messages: [{ role: 'system', content: 'Today is Monday.' }, question],
    tools: [weather, { type: 'web_search_20250305', name: 'web_search', max_uses: 5 }],
    tool_choice: { type: 'any', disable_parallel_tool_use: true },
  }
  const answer = await anthropic.beta.messages.stream(body as never).finalMessage()
  expect(answer).toMatchObject({ stop_reason: 'tool_use', content: [{ name: 'get_weather' }] })
})

test('anthropic: output_config and the former output_format ask for JSON of a schema', async () => {
  const schema = {
    type: 'object',
    properties: { sum: { type: 'integer' } },
    required: ['sum'],
    additionalProperties: false,
  }
  const format = { type: 'json_schema' as const, schema }
  const current = await anthropic.messages.create({ ...asked, messages, output_config: { format } })
  const former = await anthropic.messages.create({ ...asked, messages, output_format: format } as never)
  for (const { content } of [current, former as Anthropic.Message]) {
    expect(content).toMatchObject([{ type: 'text' }])
    expect(JSON.parse((content[0] as Anthropic.TextBlock).text)).toEqual({ sum: expect.any(Number) })
  }
})

type Ignored = Exclude<
  keyof Anthropic.Beta.MessageCreateParams,
  | (keyof typeof asked | 'messages' | 'system' | 'tools' | 'tool_choice' | 'stop_sequences' | 'stream')
  | ('thinking' | 'output_config' | 'output_format')
  // A header
  | 'betas'
>
/**
 * Every other field of the client. A new one must be translated, refused or added here and to the decision.
 */
const ignored: Record<Ignored, unknown> = {
  billing_policy: { type: 'any' },
  cache_control: { type: 'ephemeral' },
  compaction: { type: 'any' },
  container: 'container_1',
  context_management: { edits: [] },
  diagnostics: {},
  fallback_credit_token: 'token',
  fallbacks: [],
  inference_geo: 'eu',
  mcp_servers: [{ type: 'url', url: 'https://mcp.example', name: 'm' }],
  metadata: { user_id: 'u' },
  service_tier: 'auto',
  speed: 'fast',
  thread: {},
  user_profile_id: 'u',
  workspace_id: 'w',
}

test('anthropic: fields that only tune, store or cache change nothing', async () => {
  const ask = async (more: object) =>
    (await client.post('/v1/messages', { ...asked, messages, ...more })).body
  expect((await ask(ignored)).content).toEqual((await ask({})).content)
})

test.skipIf(isOutside)('anthropic: messages.countTokens counts what a message costs', async () => {
  const given = { model: chatModel, system: 'Be brief.', messages: [question], tools: [weather] }
  const { input_tokens: counted } = await anthropic.messages.countTokens(given)
  const { usage } = await anthropic.messages.create({ ...asked, ...given, max_tokens: 1 })
  expect(counted).toBe(usage.input_tokens + usage.cache_read_input_tokens!)
})

test('anthropic: aborting a stream ends it, and what the engine generated is metered', async () => {
  const before = await usageOf()
  const warm = { ...asked, temperature: 1 }
  const stream = await anthropic.messages.create({
    ...warm,
    max_tokens: 1000,
    messages: [{ role: 'user', content: 'Count from 1 to 500.' }],
    stream: true,
  })
  for await (const event of stream) if (event.type === 'content_block_delta') stream.controller.abort()
  await expect.poll(async () => (await usageOf()).output_tokens).toBeGreaterThan(before.output_tokens)
  await expect.poll(() => server.application.inference.inFlight.total).toBe(0)
})

test('anthropic: a request is repeated until its deployment runs', async () => {
  const { body } = await client.post('/api/v1/model-deployments', { model_name: chatModel })
  const patient = anthropic.withOptions({ maxRetries: 10 })
  const { content } = await patient.messages.create({ ...asked, model: body.id, messages })
  expect(content).toMatchObject([{ text: expect.stringContaining('42') }])
  await client.delete(`/api/v1/model-deployments/${body.id}`)
})

test('anthropic: errors become the client’s error classes, in Anthropic’s shape', async () => {
  const unknown = anthropic.messages.create({ ...asked, model: 'none', messages })
  await expect(unknown).rejects.toThrow(Anthropic.NotFoundError)
  await expect(unknown).rejects.toMatchObject({
    status: 404,
    error: {
      type: 'error',
      error: { type: 'not_found_error', message: expect.stringMatching(/called "none"/) },
      request_id: expect.any(String),
    },
  })
  const signedOut = new Anthropic({ baseURL: server.url, apiKey: 'any', maxRetries: 0 })
  await expect(signedOut.messages.create({ ...asked, messages })).rejects.toMatchObject({
    status: 401,
    error: { type: 'error', error: { type: 'authentication_error' } },
  })
  // An error of the engine gets the shape too.
  const long = [{ role: 'user' as const, content: 'a b '.repeat(20_000) }]
  await expect(anthropic.messages.create({ ...asked, messages: long })).rejects.toMatchObject({
    status: 400,
    error: { type: 'error', error: { message: expect.stringMatching(/maximum context length is/) } },
  })
  expect((await client.request('PUT', '/v1/messages')).body).toMatchObject({ type: 'error' })
  expect((await client.post('/v1/messages/batches', {})).body).toMatchObject({ type: 'error' })
})

test.each<[string, object]>([
  ['messages', { messages: 'hello' }],
  ['messages.0', { messages: ['hello'] }],
  ['messages.0.role', { messages: [{ role: 'tool', content: 'x' }] }],
  ['messages.0.content.0.type', { messages: [{ role: 'user', content: [{ type: 'audio' }] }] }],
  ['messages.0.content.0.text', { messages: [{ role: 'user', content: [{ type: 'text', text: 5 }] }] }],
  ['messages.0.content.0.source', { messages: [{ role: 'user', content: [{ type: 'image' }] }] }],
  ['system.0.type', { system: [{ type: 'image' }] }],
  ['messages.0.content', { messages: [{ role: 'user' }] }],
  ['stop_sequences.1', { stop_sequences: ['a', 1] }],
  ['stop_sequences.0', { stop_sequences: [''] }],
  ['output_config.format.type', { output_config: { format: { type: 'xml' } } }],
  ['output_format.schema', { output_format: { type: 'json_schema' } }],
  ['tools.0.input_schema', { tools: [{ name: 'x', input_schema: 'object' }] }],
  ['tool_choice.type', { tool_choice: { type: 'some' } }],
  ['tool_choice', { tool_choice: { type: 'tool', name: 'absent' } }],
  ['tool_choice', { tools: [{ type: 'web_search_1', name: 's' }], tool_choice: { type: 'tool', name: 's' } }],
  ['thinking', { thinking: 'yes' }],
  ['logit_bias', { logit_bias: { 1: 2 } }],
  ['guided_json', { guided_json: {} }],
])('a wrong `%s` is a 400 that names it', async (field, changes) => {
  const body = { model: chatModel, max_tokens: 4, messages, ...changes }
  const answer = await client.post('/v1/messages', body)
  expect(answer).toMatchObject({
    status: 400,
    body: { type: 'error', error: { type: 'invalid_request_error' } },
  })
  expect(answer.body.error.message).toContain(field)
})

test('deep JSON, a huge schema and a huge body get an answer in Anthropic’s shape', async () => {
  const deep = `{"model":"berth-tiny","max_tokens":4,"messages":${'['.repeat(5_000)}${']'.repeat(5_000)}}`
  expect(await client.request('POST', '/v1/messages', deep)).toMatchObject({
    status: 400,
    body: { type: 'error' },
  })
  const properties = Object.fromEntries(
    Array.from({ length: 20_000 }, (_, index) => [`p${index}`, { type: 'string' }]),
  )
  const tools = [{ name: 'x', input_schema: { type: 'object', properties } }]
  const schema = await client.post('/v1/messages', { model: id, max_tokens: 4, messages, tools })
  expect(schema).toMatchObject({ status: 400, body: { type: 'error' } })
  const body = { model: id, max_tokens: 4, messages: [{ role: 'user', content: 'x'.repeat(9 * 2 ** 20) }] }
  expect(await client.post('/v1/messages', body)).toMatchObject({
    status: 413,
    body: { type: 'error', error: { type: 'request_too_large' } },
  })
})

test('HEAD / answers', async () => {
  expect((await fetch(`${server.url}/`, { method: 'HEAD', redirect: 'manual' })).status).toBeLessThan(400)
})
