import { HumanMessage } from '@langchain/core/messages'
import type { AIMessageChunk, ToolMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Client } from '../support/client.ts'
import { chatModel, embeddingModel, serveModels } from '../support/served-models.ts'
import type { ServedModels } from '../support/served-models.ts'
import type { TestServer } from '../support/server.ts'

const sum = 'What is 27 + 15?'
const question = new HumanMessage('What is the weather in Paris?')
const getWeather = tool(({ city }) => `It is sunny in ${city}.`, {
  name: 'get_weather',
  description: 'Get the weather of a city.',
  schema: z.object({ city: z.string() }),
})

let served: ServedModels
let server: TestServer
let client: Client
beforeAll(async () => {
  served = await serveModels()
  ;({ server, client } = served)
})
afterAll(() => served.close())

const connection = () => ({
  apiKey: 'any',
  configuration: { baseURL: `${server.url}/v1`, defaultHeaders: { cookie: client.cookie() } },
})

describe.each([
  ['chat completions', false],
  ['responses', true],
])('ChatOpenAI with %s', (_, useResponsesApi) => {
  const chat = (more: object = {}) =>
    new ChatOpenAI({
      ...connection(),
      model: chatModel,
      temperature: 0,
      maxTokens: 128,
      maxRetries: 0,
      useResponsesApi,
      ...more,
    })

  test('invoke answers, with usage', async () => {
    const answer = await chat().invoke(sum)
    expect(answer.text).toContain('42')
    expect(answer.usage_metadata).toMatchObject({ output_tokens: expect.any(Number) })
  })

  test('stream has the text of the whole answer', async () => {
    const story = 'Tell me a story about a fox.'
    const whole = await chat().invoke(story)
    const pieces: string[] = []
    for await (const { text } of await chat().stream(story)) pieces.push(text)
    expect(pieces.length).toBeGreaterThan(5)
    expect(pieces.join('')).toBe(whole.text)
  })

  test('a tool is called, also in a stream, and its result is answered', async () => {
    const model = chat().bindTools([getWeather])
    const called = await model.invoke([question])
    const [call] = called.tool_calls!
    expect(call).toMatchObject({ name: 'get_weather', args: { city: 'Paris' } })
    let streamed: AIMessageChunk | undefined
    for await (const piece of await model.stream([question])) streamed = streamed?.concat(piece) ?? piece
    expect(streamed!.tool_calls).toMatchObject([{ name: 'get_weather', args: { city: 'Paris' } }])
    const result: ToolMessage = await getWeather.invoke({ ...call!, type: 'tool_call' })
    const answer = await model.invoke([question, called, result])
    expect(answer.text).not.toBe('')
  })

  test('structured output follows the schema', async () => {
    const model = chat().withStructuredOutput(z.object({ n: z.number().int() }), { name: 'number' })
    expect(await model.invoke('Give me a number.')).toEqual({ n: expect.any(Number) })
  })

  test('an aborted stream stops the engine', async () => {
    const leave = new AbortController()
    const stream = await chat({ maxTokens: 1000, temperature: 1 }).stream('Count from 1 to 500.', {
      signal: leave.signal,
    })
    const read = (async () => {
      for await (const _ of stream) leave.abort()
    })()
    await expect(read).rejects.toThrow(/abort/i)
    await expect.poll(() => server.application.inference.inFlight.total).toBe(0)
  })

  test('a request is repeated until its deployment runs', async () => {
    const created = await client.post('/api/v1/model-deployments', { model_name: chatModel })
    const { id } = created.body
    expect((await chat({ model: id, maxRetries: 10 }).invoke(sum)).text).toContain('42')
    await client.delete(`/api/v1/model-deployments/${id}`)
  })

  test('errors are those of the API', async () => {
    const unknown = chat({ model: 'none' }).invoke(sum)
    await expect(unknown).rejects.toMatchObject({ status: 404, message: expect.stringContaining('"none"') })
    await expect(chat().invoke('a b '.repeat(20_000))).rejects.toThrow(/maximum context length is/)
  })
})

test('OpenAIEmbeddings sends texts', async () => {
  const embeddings = new OpenAIEmbeddings({ ...connection(), model: embeddingModel, maxRetries: 0 })
  const { body } = await client.post('/v1/embeddings', { model: embeddingModel, input: 'a ship' })
  const vector = await embeddings.embedQuery('a ship')
  expect(vector).toHaveLength(body.data[0].embedding.length)
  vector.forEach((value, index) => expect(value).toBeCloseTo(body.data[0].embedding[index], 5))
})
