import OpenAI from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Client } from '../support/client.ts'
import { deploy } from '../support/deployments.ts'
import { chatModel, embeddingModel, serveModels } from '../support/served-models.ts'
import type { ServedModels } from '../support/served-models.ts'
import type { TestServer } from '../support/server.ts'

const messages = [{ role: 'user' as const, content: 'Hello, harbor!' }]

let served: ServedModels
let server: TestServer
let client: Client
let openai: OpenAI
let chatId: string
beforeAll(async () => {
  served = await serveModels()
  ;({ server, client, id: chatId } = served)
  openai = new OpenAI({
    baseURL: `${server.url}/v1`,
    apiKey: 'any',
    defaultHeaders: { cookie: client.cookie() },
    maxRetries: 0,
  })
})
afterAll(() => served.close())

test('openai: chat.completions.create', async () => {
  const answer = await openai.chat.completions.create({ model: chatModel, messages, max_tokens: 4 })
  expect(answer.object).toBe('chat.completion')
  expect(answer.model).toBe('berth-tiny')
  expect(answer.choices[0]?.message).toMatchObject({ role: 'assistant', content: expect.any(String) })
  expect(answer.usage?.prompt_tokens).toBeGreaterThan(0)
})

test('openai: a stream has the text of the complete response, and usage only with include_usage', async () => {
  const asked = { model: chatModel, messages, max_tokens: 8, temperature: 0, seed: 1 }
  const whole = await openai.chat.completions.create(asked)
  let text = ''
  for await (const chunk of await openai.chat.completions.create({ ...asked, stream: true })) {
    expect(chunk.model).toBe('berth-tiny')
    expect(chunk.usage ?? null).toBeNull()
    text += chunk.choices[0]?.delta.content ?? ''
  }
  expect(text).toBe(whole.choices[0]?.message.content)
  const usages = []
  const stream = await openai.chat.completions.create({
    ...asked,
    stream: true,
    stream_options: { include_usage: true },
  })
  for await (const { usage } of stream) if (usage) usages.push(usage)
  expect(usages).toEqual([whole.usage])
})

test('openai: aborting a stream ends it, and the received chunks are metered', async () => {
  const requests = async () => (await client.get(`/api/v1/model-deployments/${chatId}/usage`)).body
  const before = await requests()
  const stream = await openai.chat.completions.create({
    model: chatId,
    messages,
    max_tokens: 1000,
    stream: true,
  })
  let chunks = 0
  for await (const _chunk of stream) {
    chunks += 1
    if (chunks === 3) stream.controller.abort()
  }
  await expect
    .poll(async () => (await requests()).output_tokens)
    .toBeGreaterThanOrEqual(before.output_tokens + 3)
  expect(server.application.inference.inFlight.total).toBe(0)
})

test('openai: a tool is called, also in a stream, and its result is answered', async () => {
  const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
  const weather = { name: 'get_weather', description: 'Get the weather of a city.', parameters }
  const question = { role: 'user' as const, content: 'What is the weather in Paris?' }
  const asked = {
    model: chatModel,
    temperature: 0,
    messages: [question],
    tools: [{ type: 'function' as const, function: weather }],
  }
  const called = await openai.chat.completions.create(asked)
  expect(called.choices[0]).toMatchObject({
    finish_reason: 'tool_calls',
    message: { tool_calls: [{ type: 'function', function: { name: 'get_weather' } }] },
  })
  const { message } = called.choices[0]!
  const [call] = message.tool_calls as OpenAI.ChatCompletionMessageFunctionToolCall[]
  expect(JSON.parse(call!.function.arguments)).toEqual({ city: 'Paris' })
  const streamed = await openai.chat.completions.stream(asked).finalChatCompletion()
  expect(streamed.choices[0]!.message.tool_calls).toMatchObject([{ function: call!.function }])
  const result = { role: 'tool' as const, tool_call_id: call!.id, content: 'It is sunny.' }
  const answered = await openai.chat.completions.create({ ...asked, messages: [question, message, result] })
  expect(answered.choices[0]).toMatchObject({
    finish_reason: 'stop',
    message: { content: expect.any(String) },
  })
})

test('openai: an answer follows a JSON schema', async () => {
  const schema = {
    type: 'object',
    properties: { n: { type: 'integer' } },
    required: ['n'],
    additionalProperties: false,
  }
  const { choices } = await openai.chat.completions.parse({
    model: chatModel,
    temperature: 0,
    messages: [{ role: 'user', content: 'Give me a number.' }],
    response_format: { type: 'json_schema', json_schema: { name: 'number', schema, strict: true } },
  })
  expect(JSON.parse(choices[0]!.message.content!)).toEqual({ n: expect.any(Number) })
})

test('openai: a request is repeated until its deployment runs', async () => {
  const { body } = await client.post('/api/v1/model-deployments', { model_name: chatModel })
  const patient = openai.withOptions({ maxRetries: 10 })
  const answer = await patient.chat.completions.create({ model: body.id, messages, max_tokens: 4 })
  expect(answer.model).toBe('berth-tiny')
  await client.delete(`/api/v1/model-deployments/${body.id}`)
})

test('openai: completions.create, complete and as a stream, which are metered', async () => {
  // Its own deployment, because tokens of other tests may still arrive
  const { id } = await deploy(client, chatModel)
  const usage = async () => (await client.get(`/api/v1/model-deployments/${id}/usage`)).body
  const asked = { model: id, prompt: 'The capital of France is', max_tokens: 8, temperature: 0 }
  const whole = await openai.completions.create(asked)
  expect(whole).toMatchObject({ object: 'text_completion', model: 'berth-tiny' })
  let text = ''
  for await (const chunk of await openai.completions.create({ ...asked, stream: true })) {
    expect(chunk).toMatchObject({ model: 'berth-tiny' })
    expect(chunk.usage ?? null).toBeNull()
    text += chunk.choices[0]?.text ?? ''
  }
  expect(text).toBe(whole.choices[0]!.text)
  const { prompt_tokens: input, completion_tokens: output } = whole.usage!
  await expect.poll(usage).toMatchObject({
    requests: 2,
    input_tokens: 2 * input,
    output_tokens: 2 * output,
  })
})

test('openai: embeddings.create, whose default encoding is base64', async () => {
  const { data, model } = await openai.embeddings.create({
    model: embeddingModel,
    input: ['a ship', 'a harbor'],
  })
  expect(model).toBe('berth-tiny-embedding')
  expect(data.map(({ index }) => index)).toEqual([0, 1])
  const floats = await openai.embeddings.create({
    model: embeddingModel,
    input: 'a ship',
    encoding_format: 'float',
  })
  expect(data[0]?.embedding).toEqual(floats.data[0]?.embedding.map(Math.fround))
})

test('openai: models.list', async () => {
  const ids = (await Array.fromAsync(openai.models.list())).map(({ id }) => id)
  expect(ids.toSorted()).toEqual([chatModel, embeddingModel])
})

test('openai: errors become the client’s error classes with our message and code', async () => {
  const unknown = openai.chat.completions.create({ model: 'none', messages })
  await expect(unknown).rejects.toThrow(OpenAI.NotFoundError)
  await expect(unknown).rejects.toMatchObject({
    status: 404,
    code: 'model_not_found',
    message: expect.stringMatching(/called "none"/),
  })
  const signedOut = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'any', maxRetries: 0 })
  await expect(signedOut.models.list()).rejects.toThrow(OpenAI.AuthenticationError)
})
