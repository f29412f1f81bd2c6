import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { APICallError, embed, generateText, isStepCount, Output, RetryError, streamText, tool } from 'ai'
import type { LanguageModel } from 'ai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Client } from '../support/client.ts'
import { chatModel, embeddingModel, serveModels } from '../support/served-models.ts'
import type { ServedModels } from '../support/served-models.ts'
import type { TestServer } from '../support/server.ts'

const sum = 'What is 27 + 15?'
const asked = { temperature: 0, maxOutputTokens: 128, maxRetries: 0 }
const getWeather = tool({
  description: 'Get the weather of a city.',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `It is sunny in ${city}.`,
})

let served: ServedModels
let server: TestServer
let client: Client
let models: Record<string, (name: string) => LanguageModel>
beforeAll(async () => {
  served = await serveModels()
  ;({ server, client } = served)
  const connection = { baseURL: `${server.url}/v1`, apiKey: 'any', headers: { cookie: client.cookie() } }
  const openai = createOpenAI(connection)
  const compatible = createOpenAICompatible({
    name: 'berth',
    supportsStructuredOutputs: true,
    includeUsage: true,
    ...connection,
  })
  models = {
    '@ai-sdk/openai, responses': openai,
    '@ai-sdk/openai, chat': (name) => openai.chat(name),
    '@ai-sdk/openai-compatible': compatible,
    '@ai-sdk/anthropic': createAnthropic(connection),
  }
})
afterAll(() => served.close())

describe.each([
  '@ai-sdk/openai, responses',
  '@ai-sdk/openai, chat',
  '@ai-sdk/openai-compatible',
  '@ai-sdk/anthropic',
])('%s', (provider) => {
  const modelNamed = (name: string) => models[provider]!(name)

  test('generateText answers, with usage', async () => {
    const { text, finishReason, usage } = await generateText({
      ...asked,
      model: modelNamed(chatModel),
      prompt: sum,
    })
    expect(text).toContain('42')
    expect(finishReason).toBe('stop')
    expect(usage.inputTokens).toBeGreaterThan(0)
    expect(usage.outputTokens).toBeGreaterThan(0)
  })

  test('streamText has the text of the whole answer', async () => {
    const given = { ...asked, model: modelNamed(chatModel), prompt: 'Tell me a story about a fox.' }
    const whole = await generateText(given)
    const pieces: string[] = []
    const stream = streamText(given)
    for await (const piece of stream.textStream) pieces.push(piece)
    expect(pieces.length).toBeGreaterThan(5)
    expect(pieces.join('')).toBe(whole.text)
    expect((await stream.usage).outputTokens).toBe(whole.usage.outputTokens)
  })

  test('a tool is called, and its result is answered', async () => {
    const { steps } = await generateText({
      ...asked,
      model: modelNamed(chatModel),
      prompt: 'What is the weather in Paris?',
      tools: { get_weather: getWeather },
      stopWhen: isStepCount(2),
    })
    expect(steps).toHaveLength(2)
    expect(steps[0]!.toolCalls).toMatchObject([{ toolName: 'get_weather', input: { city: 'Paris' } }])
    expect(steps[1]!.text).not.toBe('')
  })

  test('a forced tool is called in a stream', async () => {
    const stream = streamText({
      ...asked,
      model: modelNamed(chatModel),
      prompt: 'Hello!',
      tools: { get_weather: getWeather },
      toolChoice: { type: 'tool', toolName: 'get_weather' },
    })
    expect(await stream.toolCalls).toMatchObject([{ input: { city: expect.any(String) } }])
  })

  test('structured output follows the schema', async () => {
    const { output } = await generateText({
      ...asked,
      model: modelNamed(chatModel),
      prompt: 'Give me a number.',
      output: Output.object({ schema: z.object({ n: z.number().int() }) }),
    })
    expect(output).toEqual({ n: expect.any(Number) })
  })

  test('an aborted stream stops the engine', async () => {
    const leave = new AbortController()
    const stream = streamText({
      ...asked,
      model: modelNamed(chatModel),
      maxOutputTokens: 1000,
      temperature: 1,
      prompt: 'Count from 1 to 500.',
      abortSignal: leave.signal,
    })
    for await (const _ of stream.textStream) leave.abort()
    await expect.poll(() => server.application.inference.inFlight.total).toBe(0)
  })

  test('a request is repeated until its deployment runs', async () => {
    const created = await client.post('/api/v1/model-deployments', { model_name: chatModel })
    const { id } = created.body
    const { text } = await generateText({ ...asked, maxRetries: 10, model: modelNamed(id), prompt: sum })
    expect(text).toContain('42')
    await client.delete(`/api/v1/model-deployments/${id}`)
  })

  test('errors are those of the API', async () => {
    const unknown = generateText({ ...asked, model: modelNamed('none'), prompt: sum })
    await expect(unknown).rejects.toSatisfy(
      (error) => APICallError.isInstance(error) && error.statusCode === 404 && !error.isRetryable,
    )
    await expect(unknown).rejects.toThrow(/called "none"/)
    const long = generateText({ ...asked, model: modelNamed(chatModel), prompt: 'a b '.repeat(20_000) })
    await expect(long).rejects.toThrow(/maximum context length is/)
    expect(RetryError.isInstance(await long.catch((error: unknown) => error))).toBe(false)
  })
})

test('embed gives the vectors of the OpenAI package', async () => {
  const { embedding, usage } = await embed({
    model: createOpenAICompatible({
      name: 'berth',
      baseURL: `${server.url}/v1`,
      headers: { cookie: client.cookie() },
    }).embeddingModel(embeddingModel),
    value: 'a ship',
  })
  const { body } = await client.post('/v1/embeddings', { model: embeddingModel, input: 'a ship' })
  expect(embedding).toEqual(body.data[0].embedding)
  expect(usage.tokens).toBe(body.usage.prompt_tokens)
})
