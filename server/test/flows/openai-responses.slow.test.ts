import OpenAI from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Client } from '../support/client.ts'
import { chatModel, serveModels } from '../support/served-models.ts'
import type { ServedModels } from '../support/served-models.ts'
import type { TestServer } from '../support/server.ts'

const parameters = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}
const weather = {
  type: 'function' as const,
  name: 'get_weather',
  description: 'Get the weather of a city.',
  parameters,
  strict: true,
}
const question = 'What is the weather in Paris?'

let served: ServedModels
let server: TestServer
let client: Client
let openai: OpenAI
let id: string
beforeAll(async () => {
  served = await serveModels()
  ;({ server, client, id } = served)
  openai = new OpenAI({
    baseURL: `${server.url}/v1`,
    apiKey: 'any',
    defaultHeaders: { cookie: client.cookie() },
    maxRetries: 0,
  })
})
afterAll(() => served.close())

const usageOf = async () => (await client.get(`/api/v1/model-deployments/${id}/usage`)).body
const asked = { model: chatModel, temperature: 0, max_output_tokens: 128 }

test('openai: responses.create answers, and is metered', async () => {
  const before = await usageOf()
  const answer = await openai.responses.create({
    ...asked,
    instructions: 'Be brief.',
    input: 'What is 27 + 15?',
    store: true,
    metadata: { a: 'b' },
    include: ['reasoning.encrypted_content'],
    prompt_cache_key: 'k',
    reasoning: { effort: 'low' },
  })
  expect(answer).toMatchObject({
    id: expect.stringMatching(/^resp_/),
    object: 'response',
    model: chatModel,
    status: 'completed',
    metadata: { a: 'b' },
    output: [{ type: 'message', role: 'assistant', status: 'completed' }],
  })
  expect(answer.output_text).toContain('42')
  const { input_tokens: input, output_tokens: output } = answer.usage!
  await expect.poll(usageOf).toMatchObject({
    requests: before.requests + 1,
    input_tokens: before.input_tokens + input,
    output_tokens: before.output_tokens + output,
  })
})

test('openai: responses.stream has the events of a response, with sequence numbers and its text', async () => {
  const input = 'What is 27 + 15?'
  const whole = await openai.responses.create({ ...asked, input })
  const stream = openai.responses.stream({ ...asked, input })
  const events: { type: string; sequence_number: number }[] = []
  for await (const event of stream) events.push(event)
  const streamed = await stream.finalResponse()
  expect(streamed.output_text).toBe(whole.output_text)
  const { input_tokens, output_tokens } = whole.usage!
  expect(streamed.usage).toMatchObject({ input_tokens, output_tokens })
  expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index))
  expect(events.map(({ type }) => type).filter((type) => !type.endsWith('.delta'))).toEqual([
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.content_part.added',
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.completed',
  ])
})

test('openai: an answer that reaches max_output_tokens is incomplete', async () => {
  const given = { ...asked, input: 'Count from 1 to 50.', max_output_tokens: 2 }
  const incomplete = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
  expect(await openai.responses.create(given)).toMatchObject(incomplete)
  const types: string[] = []
  for await (const event of await openai.responses.create({ ...given, stream: true })) types.push(event.type)
  expect(types.at(-1)).toBe('response.incomplete')
})

test('openai: a function is called, whole and as a stream, and its result is answered', async () => {
  const given = { ...asked, input: question, tools: [weather] }
  const called = await openai.responses.create(given)
  const call = called.output[0] as OpenAI.Responses.ResponseFunctionToolCall
  expect(call).toMatchObject({ type: 'function_call', name: 'get_weather', status: 'completed' })
  expect(JSON.parse(call.arguments)).toEqual({ city: 'Paris' })
  const streamed = await openai.responses.stream(given).finalResponse()
  expect(streamed.output).toMatchObject([
    { type: 'function_call', name: 'get_weather', arguments: call.arguments },
  ])
  const answer = await openai.responses.create({
    ...asked,
    tools: [weather],
    input: [
      { role: 'user', content: [{ type: 'input_text', text: question }] },
      { type: 'reasoning', id: 'rs_1', summary: [] },
      call,
      { type: 'function_call_output', call_id: call.call_id, output: 'It is sunny.' },
    ],
  })
  expect(answer.output[0]).toMatchObject({ type: 'message' })
})

test('openai: what Codex sends: a namespace, hosted tools, unknown fields', async () => {
  const namespace = { type: 'namespace', name: 'city.info', description: 'Cities', tools: [weather] }
  const body = {
    ...asked,
    input: [
      { type: 'message', role: 'developer', content: 'You help.' },
      { role: 'user', content: question },
    ],
    tools: [namespace, { type: 'web_search', external_web_access: false }, { type: 'custom', name: 'patch' }],
    tool_choice: 'required',
    parallel_tool_calls: false,
    client_metadata: { session: 'x' },
    text: { verbosity: 'low' },
  }
  const create = (given: object): Promise<OpenAI.Responses.Response> =>
    openai.responses.create(given as OpenAI.Responses.ResponseCreateParamsNonStreaming)
  const called = await create(body)
  expect(called.output).toMatchObject([
    { type: 'function_call', namespace: 'city.info', name: 'get_weather', arguments: expect.any(String) },
  ])
  const call = called.output[0] as OpenAI.Responses.ResponseFunctionToolCall
  const next = { type: 'function_call_output', call_id: call.call_id, output: 'Sunny.' }
  const input = [...body.input, call, next]
  const answer = await create({ ...body, input, tool_choice: 'none' })
  expect(answer.output[0]).toMatchObject({ type: 'message' })
})

test('openai: structured output follows the schema', async () => {
  const schema = {
    type: 'object',
    properties: { n: { type: 'integer' } },
    required: ['n'],
    additionalProperties: false,
  }
  const format = { type: 'json_schema' as const, name: 'number', schema, strict: true }
  const given = { ...asked, input: 'Give me a number.', text: { format } }
  const { output_parsed: parsed } = await openai.responses.parse(given)
  expect(parsed).toEqual({ n: expect.any(Number) })
  const streamed = await openai.responses.stream(given).finalResponse()
  expect(streamed.output_parsed).toEqual({ n: expect.any(Number) })
})

test('openai: aborting a stream ends it, and what the engine generated is metered', async () => {
  const before = await usageOf()
  const stream = await openai.responses.create({
    ...asked,
    temperature: 1,
    max_output_tokens: 1000,
    input: 'Count from 1 to 500.',
    stream: true,
  })
  for await (const event of stream) if (event.type === 'response.output_text.delta') stream.controller.abort()
  await expect.poll(async () => (await usageOf()).output_tokens).toBeGreaterThan(before.output_tokens)
  await expect.poll(() => server.application.inference.inFlight.total).toBe(0)
})

test('openai: errors become the client’s error classes with our message and code', async () => {
  const unknown = openai.responses.create({ model: 'none', input: 'x' })
  await expect(unknown).rejects.toThrow(OpenAI.NotFoundError)
  await expect(unknown).rejects.toMatchObject({ status: 404, code: 'model_not_found' })
  const long = openai.responses.create({ ...asked, input: 'a b '.repeat(20_000) })
  await expect(long).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded' })
})

type Ignored = Exclude<
  keyof OpenAI.Responses.ResponseCreateParams,
  | (keyof typeof asked | 'input' | 'instructions' | 'tools' | 'tool_choice' | 'parallel_tool_calls' | 'text')
  | ('top_p' | 'stream')
  | ('previous_response_id' | 'conversation' | 'background' | 'prompt' | 'top_logprobs')
>
/**
 * Every other field of the client. A new one must be translated, refused or added here and to the decision.
 */
const ignored: Record<Ignored, unknown> = {
  access_programs: [],
  context_management: [],
  image: {},
  include: ['reasoning.encrypted_content'],
  max_tool_calls: 1,
  metadata: { a: 'b' },
  moderation: {},
  prompt_cache_key: 'k',
  prompt_cache_options: {},
  prompt_cache_retention: '24h',
  reasoning: { effort: 'low' },
  safety_identifier: 's',
  service_tier: 'flex',
  store: true,
  stream_options: { include_obfuscation: false },
  truncation: 'auto',
  user: 'u',
}

test('openai: fields that only tune, store or cache change nothing', async () => {
  const ask = async (more: object) =>
    (await client.post('/v1/responses', { ...asked, input: 'What is 27 + 15?', ...more })).body
  const [item] = (await ask({})).output
  expect((await ask(ignored)).output).toEqual([{ ...item, id: expect.any(String) }])
})

test.each<[string, object]>([
  ['previous_response_id', { previous_response_id: 'resp_1' }],
  ['conversation', { conversation: { id: 'conv_1' } }],
  ['background', { background: true }],
  ['prompt', { prompt: { id: 'pmpt_1' } }],
  ['input', { input: [] }],
  ['input', { input: 5 }],
  ['input.0.type', { input: [{ type: 'item_reference', id: 'x' }] }],
  ['input.0.role', { input: [{ role: 'tool', content: 'x' }] }],
  ['input.0.content.0.type', { input: [{ role: 'user', content: [{ type: 'input_audio' }] }] }],
  ['input.0.call_id', { input: [{ type: 'function_call', name: 'f', arguments: '{}' }] }],
  [
    'input.0.output.0.type',
    { input: [{ type: 'function_call_output', call_id: 'c', output: [{ type: 'x' }] }] },
  ],
  ['text.format.type', { text: { format: { type: 'grammar' } } }],
  ['tools.0.name', { tools: [{ type: 'function' }] }],
  ['tools.0.tools.0', { tools: [{ type: 'namespace', name: 'n', tools: ['x'] }] }],
  ['tool_choice', { tool_choice: { type: 'web_search' } }],
  ['tool_choice', { tool_choice: 'required', tools: [{ type: 'web_search' }] }],
  ['tool_choice', { tool_choice: { type: 'function', name: 'absent' } }],
  ['tool_choice', { tool_choice: 'some', tools: [{ type: 'function', name: 'f' }] }],
  ['max_output_tokens', { max_output_tokens: 'many' }],
  ['top_logprobs', { top_logprobs: 2 }],
  ['modalities', { modalities: ['text', 'audio'] }],
  ['logit_bias', { logit_bias: { 1: 2 } }],
])('a wrong or refused `%s` is a 400 that names it', async (field, changes) => {
  const answer = await client.post('/v1/responses', {
    model: id,
    input: 'x',
    max_output_tokens: 2,
    ...changes,
  })
  expect(answer).toMatchObject({
    status: 400,
    body: { error: { type: 'invalid_request_error', param: expect.stringContaining(field) } },
  })
  expect(answer.body.error.message).toContain(field)
})
