import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { endlessFormat, modelAlias, otherAlias, startEngine } from './support/engine.ts'
import type { TestEngine } from './support/engine.ts'

let engine: TestEngine
let client: OpenAI
beforeAll(async () => {
  engine = startEngine()
  client = new OpenAI({ baseURL: `${await engine.ready()}/v1`, apiKey: engine.key, maxRetries: 0 })
})
afterAll(() => engine.stop())

const messages = [{ role: 'user' as const, content: 'Hello, who are you?' }]
const story = [{ role: 'user' as const, content: 'Tell me a story.' }]
const complete = (options: Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>) =>
  client.chat.completions.create({ model: modelAlias, messages, ...options })

test('lists the model by its first alias', async () => {
  const { data } = await client.models.list()
  const aliases = [modelAlias, otherAlias]
  expect(data).toMatchObject([{ id: modelAlias, aliases, object: 'model', meta: { n_ctx_train: 2048 } }])
})

test('accepts each alias, answers with the first, and refuses other names', async () => {
  const options = { max_tokens: 1 }
  expect(await complete({ ...options, model: otherAlias })).toMatchObject({ model: modelAlias })
  const stream = await client.chat.completions.create({
    ...options,
    model: otherAlias,
    messages,
    stream: true,
  })
  for (const { model } of await Array.fromAsync(stream)) expect(model).toBe(modelAlias)
  await expect(complete({ ...options, model: `${modelAlias},${otherAlias}` })).rejects.toThrow(/404/)
})

test('returns a complete answer with its usage', async () => {
  const { choices, usage } = await complete({ seed: 3, max_tokens: 40 })
  expect(choices).toHaveLength(1)
  expect(choices[0]?.message.role).toBe('assistant')
  expect(choices[0]?.message.content).toMatch(/^[\x20-\x7e\n]+$/)
  expect(usage!.prompt_tokens).toBeGreaterThan(5)
  expect(usage!.total_tokens).toBe(usage!.prompt_tokens + usage!.completion_tokens)
})

test('streams the same answer with the same usage', async () => {
  const options = { model: modelAlias, messages: story, seed: 11, max_tokens: 60 }
  const whole = await client.chat.completions.create(options)
  const stream = await client.chat.completions.create({
    ...options,
    stream: true,
    stream_options: { include_usage: true },
  })
  const chunks = await Array.fromAsync(stream)
  expect(chunks[0]?.choices[0]?.delta).toEqual({ role: 'assistant', content: '' })
  const text = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')
  expect(text).toBe(whole.choices[0]?.message.content)
  expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe(whole.choices[0]?.finish_reason)
  expect(chunks.at(-1)).toMatchObject({ choices: [] })
  const { prompt_tokens, completion_tokens, total_tokens } = chunks.at(-1)!.usage!
  expect(whole.usage).toMatchObject({ prompt_tokens, completion_tokens, total_tokens })
  expect(new Set(chunks.map((chunk) => chunk.id)).size).toBe(1)
})

test('sends usage only on request and ends with [DONE]', async () => {
  const text = await (await engine.chat({ stream: true, max_tokens: 3 })).text()
  expect(text).not.toContain('usage')
  expect(text.endsWith('data: [DONE]\n\n')).toBe(true)
})

test('sends the usage so far with each chunk on request', async () => {
  const ask = async (stream_options: object) => {
    const text = await (await engine.chat({ stream: true, max_tokens: 6, seed: 3, stream_options })).text()
    const events = text.split('\n\n').flatMap((event) => /^data: (\{.*)$/.exec(event)?.slice(1) ?? [])
    return events.map((event) => JSON.parse(event) as OpenAI.ChatCompletionChunk)
  }
  const chunks = await ask({ include_usage: true, continuous_usage_stats: true })
  const counts = chunks.map(({ usage }) => usage!.completion_tokens)
  expect(counts[0]).toBe(0)
  expect(counts).toEqual(counts.toSorted((one, other) => one - other))
  expect(counts.at(-1)).toBe(6)
  const [first, last] = [chunks[0]!.usage!, chunks.at(-1)!.usage!]
  expect(first.prompt_tokens).toBe(last.prompt_tokens)
  expect((await ask({ continuous_usage_stats: true })).every((chunk) => !('usage' in chunk))).toBe(true)
})

test('counts each choice by itself in its chunks, as vLLM does, and all of them at the end', async () => {
  const stream_options = { include_usage: true, continuous_usage_stats: true }
  const text = await (await engine.chat({ stream: true, max_tokens: 6, n: 2, stream_options })).text()
  const events = text.split('\n\n').flatMap((event) => /^data: (\{.*)$/.exec(event)?.slice(1) ?? [])
  const chunks = events.map((event) => JSON.parse(event) as OpenAI.ChatCompletionChunk)
  const lastOf = (index: number) => chunks.findLast(({ choices }) => choices[0]?.index === index)!.usage!
  const total = chunks.at(-1)!.usage!.completion_tokens
  expect(lastOf(0).completion_tokens + lastOf(1).completion_tokens).toBe(total)
  expect(lastOf(1).completion_tokens).toBeLessThan(total)
})

test('tells what a request used whose caller left', async () => {
  const leaving = new AbortController()
  const headers = { authorization: `Bearer ${engine.key}`, 'x-request-id': 'left-1' }
  const response = await engine.chat(
    { stream: true, response_format: endlessFormat, stream_options: { include_usage: true } },
    { headers: { ...headers, 'content-type': 'application/json' }, signal: leaving.signal },
  )
  const reader = response.body!.getReader()
  for (let piece = 0; piece < 3; piece += 1) await reader.read()
  leaving.abort()
  const read = async (id: string) => fetch(`${await engine.url()}/v1/requests/${id}/usage`, { headers })
  const { usage } = (await (await read('left-1')).json()) as OpenAI.ChatCompletion
  expect(usage!.prompt_tokens).toBeGreaterThan(0)
  expect(usage!.completion_tokens).toBeGreaterThan(0)
  expect((await read('never-sent')).status).toBe(404)
})

test('the same seed gives the same answer, another seed a different one', async () => {
  const ask = async (seed: number) =>
    (await complete({ messages: story, seed, max_tokens: 60 })).choices[0]?.message.content
  const first = await ask(5)
  await complete({ max_tokens: 20 })
  expect(await ask(5)).toBe(first)
  expect(await ask(-6)).not.toBe(first)
})

test('stops at max_tokens', async () => {
  const { choices, usage } = await complete({ temperature: 0, max_completion_tokens: 5, max_tokens: 900 })
  expect(choices[0]?.finish_reason).toBe('length')
  expect(usage?.completion_tokens).toBe(5)
})

test('stops before a stop string', async () => {
  const plain = (await complete({ temperature: 0, max_tokens: 30 })).choices[0]!.message.content!
  const stop = plain.slice(10, 14)
  const { choices } = await complete({ temperature: 0, max_tokens: 30, stop: ['never written', stop] })
  expect(choices[0]).toMatchObject({ finish_reason: 'stop', stop_reason: stop })
  expect(choices[0]?.message.content).toBe(plain.slice(0, plain.indexOf(stop)))
})

test('stops at a stop string that the last allowed token completes', async () => {
  const plain = await complete({ temperature: 0, max_tokens: 8 })
  expect(plain.choices[0]?.finish_reason).toBe('length')
  const stop = plain.choices[0]!.message.content!
  const { choices, usage } = await complete({ temperature: 0, max_tokens: 8, stop })
  expect(choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: '' } })
  expect(usage?.completion_tokens).toBe(8)
})

test('ends with "length" when the context is full, without dropping the prompt', async () => {
  const { choices, usage } = await complete({
    temperature: 0,
    messages: [{ role: 'user', content: 'word '.repeat(1900) }],
    response_format: endlessFormat,
  })
  expect(choices[0]?.finish_reason).toBe('length')
  expect(usage!.prompt_tokens).toBeGreaterThan(1900)
  expect(usage!.total_tokens).toBe(2047)
})

test('rejects a prompt that does not fit and names both sizes', async () => {
  const long = complete({ messages: [{ role: 'user', content: 'word '.repeat(2100) }] })
  await expect(long).rejects.toMatchObject({
    status: 400,
    code: 'context_length_exceeded',
    message: expect.stringMatching(
      /maximum context length is 2048 tokens, but the messages have 21\d\d tokens/,
    ) as string,
  })
})

test.each([
  ['logit_bias', { 42: -100 }, {}],
  ['modalities', ['text', 'audio'], ['text']],
  ['audio', { voice: 'alloy', format: 'mp3' }, null],
  ['guided_json', { type: 'object' }, null],
])('%s that asks for something is a 400 that names it', async (field, asks, nothing) => {
  const refused = complete({ [field]: asks, max_tokens: 2 })
  await expect(refused).rejects.toMatchObject({ status: 400, code: 'unsupported_parameter', param: field })
  expect((await complete({ [field]: nothing, max_tokens: 2, top_k: -1 } as never)).choices).toHaveLength(1)
})

test.each([
  ['stop', { stop: 7 }, /^stop: must be a text/],
  ['stop.1', { stop: ['a', ''] }, /^stop.1: must not be empty/],
  ['messages.0.content', { messages: [{ role: 'user', content: 7 }] }, /content: must be a text or a list/],
  ['tool_choice', { tool_choice: 'some' }, /^tool_choice: must be auto/],
])('an invalid %s: the message says what is allowed', async (param, body, message) => {
  await expect(complete(body as never)).rejects.toMatchObject({
    status: 400,
    param,
    error: { message: expect.stringMatching(message) },
  })
})

test('fields that only tune, store or cache are ignored', async () => {
  const ignored = {
    client_metadata: {},
    include: ['x'],
    metadata: { a: 'b' },
    moderation: {},
    prediction: { type: 'content', content: 'x' },
    prompt_cache_key: 'k',
    prompt_cache_options: {},
    prompt_cache_retention: '24h',
    reasoning: { effort: 'low' },
    reasoning_effort: 'low',
    safety_identifier: 's',
    service_tier: 'flex',
    store: true,
    user: 'me',
    verbosity: 'low',
    web_search_options: {},
  }
  const options = { temperature: 0, max_tokens: 4 }
  const plain = await complete(options)
  const { choices } = await complete({ ...options, ...ignored } as never)
  expect(choices[0]?.message.content).toBe(plain.choices[0]?.message.content)
})

test('repetition_penalty makes repetitions less likely, and 1 changes nothing', async () => {
  const ask = async (repetition_penalty?: number) => {
    const { choices } = await complete({ temperature: 0, max_tokens: 60, repetition_penalty } as never)
    return choices[0]!.message.content!
  }
  const variety = (text: string) => new Set(text.split(/\W+/)).size / text.split(/\W+/).length
  const plain = await ask()
  expect(await ask(1)).toBe(plain)
  expect(variety(await ask(2))).toBeGreaterThan(variety(plain))
})

describe('n', () => {
  test('several choices in one completion, each with its own seed', async () => {
    const ask = (n: number, seed: number) => complete({ n, seed, max_tokens: 12, temperature: 1 })
    const { choices, usage } = await ask(3, 7)
    expect(choices.map(({ index }) => index)).toEqual([0, 1, 2])
    expect(usage!.completion_tokens).toBeGreaterThan(3)
    expect(usage!.total_tokens).toBe(usage!.prompt_tokens + usage!.completion_tokens)
    for (const [index, choice] of choices.entries()) {
      const alone = await ask(1, 7 + index)
      expect(choice.message.content).toBe(alone.choices[0]!.message.content)
    }
  })

  test('several choices in a stream, each with its index and finish reason', async () => {
    const stream = await client.chat.completions.create({
      model: modelAlias,
      messages,
      n: 2,
      max_tokens: 5,
      stream: true,
      stream_options: { include_usage: true },
    })
    const finished: [number, string][] = []
    let usage: OpenAI.CompletionUsage | null | undefined
    for await (const chunk of stream) {
      for (const { index, finish_reason } of chunk.choices)
        if (finish_reason) finished.push([index, finish_reason])
      usage = chunk.usage ?? usage
    }
    expect(finished.map(([index]) => index)).toEqual([0, 1])
    expect(usage!.completion_tokens).toBeLessThanOrEqual(10)
  })
})

describe('structured output', () => {
  test('a JSON Schema', async () => {
    const schema = {
      type: 'object',
      required: ['name', 'sizes', 'kind'],
      additionalProperties: false,
      properties: {
        name: { type: 'string', maxLength: 12 },
        sizes: { type: 'array', items: { type: 'integer' }, minItems: 1, maxItems: 2 },
        kind: { enum: ['small', 'large'] },
      },
    }
    const { choices } = await complete({
      response_format: { type: 'json_schema', json_schema: { name: 'thing', schema } },
    })
    expect(choices[0]?.finish_reason).toBe('stop')
    const thing = JSON.parse(choices[0]!.message.content!) as Record<string, unknown>
    expect(Object.keys(thing)).toEqual(['name', 'sizes', 'kind'])
    expect(String(thing['name']).length).toBeLessThanOrEqual(12)
    expect(thing['sizes']).toSatisfy((sizes: number[]) => sizes.every((size) => Number.isInteger(size)))
    expect(['small', 'large']).toContain(thing['kind'])
  })

  test('integers, in many runs', async () => {
    const schema = { type: 'array', items: { type: 'integer' }, minItems: 4, maxItems: 4 }
    const format = { type: 'json_schema' as const, json_schema: { name: 'numbers', schema } }
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, seed) => complete({ seed, response_format: format })),
    )
    const numbers = answers.flatMap(({ choices }) => JSON.parse(choices[0]!.message.content!) as number[])
    expect(numbers.filter((number) => !Number.isInteger(number))).toEqual([])
    expect(numbers).toHaveLength(80)
  })

  test('any JSON object', async () => {
    const { choices } = await complete({ response_format: { type: 'json_object' }, max_tokens: 200 })
    expect(choices[0]?.message.content).toMatch(/^\{/)
  })

  test('a schema without an equivalent grammar is rejected', async () => {
    const schema = { type: 'array', uniqueItems: true }
    const format = { name: 'x', schema, strict: true }
    const refused = complete({ response_format: { type: 'json_schema', json_schema: format } })
    await expect(refused).rejects.toMatchObject({ status: 400, code: 'invalid_json_schema' })
  })
})

describe('tools', () => {
  const tool = (name: string): OpenAI.ChatCompletionTool => ({
    type: 'function',
    function: {
      name,
      description: 'Tells the weather.',
      parameters: {
        type: 'object',
        required: ['city', 'unit'],
        properties: { city: { type: 'string', maxLength: 8 }, unit: { enum: ['c', 'f'] } },
      },
    },
  })

  function expectWeatherCall(call: { function: { name: string; arguments: string } }): void {
    const { city, unit } = JSON.parse(call.function.arguments) as { city: string; unit: string }
    expect(city.length).toBeLessThanOrEqual(8)
    expect(['c', 'f']).toContain(unit)
  }

  test('tool_choice required calls a tool', async () => {
    const { choices } = await complete({ tools: [tool('one'), tool('two')], tool_choice: 'required' })
    expect(choices[0]?.finish_reason).toBe('tool_calls')
    const calls = choices[0]!.message.tool_calls as OpenAI.ChatCompletionMessageFunctionToolCall[]
    expect(calls).toHaveLength(1)
    expect(['one', 'two']).toContain(calls[0]!.function.name)
    expectWeatherCall(calls[0]!)
  })

  test('a tool without strict may have keywords that no grammar has; with strict it is rejected by name', async () => {
    const { function: one } = tool('one') as OpenAI.ChatCompletionFunctionTool
    const parameters = { ...one.parameters, minProperties: 1 }
    const loose = (strict: boolean): OpenAI.ChatCompletionTool => ({
      type: 'function',
      function: { ...one, parameters, strict },
    })
    const { choices } = await complete({ tools: [loose(false)], tool_choice: 'required' })
    const [call] = choices[0]!.message.tool_calls as OpenAI.ChatCompletionMessageFunctionToolCall[]
    expectWeatherCall(call!)
    const refused = complete({ tools: [loose(true)], tool_choice: 'required' })
    await expect(refused).rejects.toMatchObject({ status: 400, code: 'invalid_json_schema' })
  })

  test('a named tool_choice calls that tool, streamed', async () => {
    const stream = client.chat.completions.stream({
      model: modelAlias,
      messages,
      tools: [tool('one'), tool('two')],
      tool_choice: { type: 'function', function: { name: 'two' } },
    })
    const { choices } = await stream.finalChatCompletion()
    expect(choices[0]?.finish_reason).toBe('tool_calls')
    const call = choices[0]!.message.tool_calls![0] as OpenAI.ChatCompletionMessageFunctionToolCall
    expect(call.id).toMatch(/^call_/)
    expect(call.function.name).toBe('two')
    expectWeatherCall(call)
  })

  test('integer parameters always end in a call', async () => {
    const parameters = { type: 'object', properties: { count: { type: 'integer' } } }
    const count: OpenAI.ChatCompletionTool = { type: 'function', function: { name: 'count', parameters } }
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, seed) =>
        complete({ seed, tools: [count], tool_choice: 'required', max_tokens: 200 }),
      ),
    )
    expect(new Set(answers.map(({ choices }) => choices[0]?.finish_reason))).toEqual(new Set(['tool_calls']))
  })

  test('a tool without parameters is called with an empty object', async () => {
    const ping: OpenAI.ChatCompletionTool = { type: 'function', function: { name: 'ping' } }
    const { choices } = await complete({ tools: [ping], tool_choice: 'required' })
    expect(choices[0]?.message.tool_calls).toMatchObject([{ function: { name: 'ping', arguments: '{}' } }])
  })

  test('the deprecated functions: a call, its result and a streamed call', async () => {
    const { function: one } = tool('one') as OpenAI.ChatCompletionFunctionTool
    const body = { model: modelAlias, messages, functions: [one], function_call: { name: 'one' } }
    const { choices } = await client.chat.completions.create(body)
    const { message, finish_reason } = choices[0]!
    expect([finish_reason, message.tool_calls]).toEqual(['function_call', undefined])
    expect(message.function_call!.name).toBe('one')
    expectWeatherCall({ function: message.function_call! })

    const result = { role: 'function' as const, name: 'one', content: 'rain' }
    const { usage } = await complete({
      functions: [one],
      messages: [...messages, message, result],
      max_tokens: 5,
    })
    expect(usage!.prompt_tokens).toBeGreaterThan(60)

    const stream = client.chat.completions.stream(body)
    const streamed = (await stream.finalChatCompletion()).choices[0]!
    expect(streamed.finish_reason).toBe('function_call')
    expectWeatherCall({ function: streamed.message.function_call! })
  })

  test('a tool result continues the conversation', async () => {
    const call = {
      id: 'c1',
      type: 'function' as const,
      function: { name: 'one', arguments: '{"city":"Oslo"}' },
    }
    const { usage } = await complete({
      tools: [tool('one')],
      max_tokens: 5,
      messages: [
        ...messages,
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: 'c1', content: 'rain' },
      ],
    })
    expect(usage!.prompt_tokens).toBeGreaterThan(60)
  })
})

test('answers eight concurrent requests on four sequences', async () => {
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, more) =>
      complete({ response_format: endlessFormat, max_tokens: 50 + more }),
    ),
  )
  expect(answers.map((answer) => answer.usage?.completion_tokens)).toEqual([50, 51, 52, 53, 54, 55, 56, 57])
})

test('frees the sequences of disconnected callers: streaming, waiting and non-streamed', async () => {
  const leaving = new AbortController()
  const endless = { model: modelAlias, messages, response_format: endlessFormat }
  const streams = await Promise.all(
    Array.from({ length: 4 }, () =>
      client.chat.completions.create({ ...endless, stream: true }, { signal: leaving.signal }),
    ),
  )
  for (const stream of streams) await stream[Symbol.asyncIterator]().next()
  const waiting = Array.from({ length: 4 }, () =>
    client.chat.completions.create(endless, { signal: leaving.signal }),
  )
  const settled = Promise.allSettled(waiting)
  const before = engine.output().match(/ left /g)?.length ?? 0
  leaving.abort()
  expect((await settled).map(({ status }) => status)).toEqual(Array(4).fill('rejected'))
  // Eight answers that fill the context would take far longer.
  const answers = await Promise.all(Array.from({ length: 4 }, () => complete({ max_tokens: 5 })))
  expect(answers).toHaveLength(4)
  await expect.poll(() => engine.output().match(/ left /g)?.length ?? 0).toBeGreaterThanOrEqual(before + 4)
})

test('writes neither prompts, answers nor the key to its log', async () => {
  await complete({ messages: [{ role: 'user', content: 'xylophone-7731' }], max_tokens: 5 })
  await expect
    .poll(() => engine.output())
    .toMatch(/POST \/v1\/chat\/completions 200 prompt=\d+ cached=\d+ completion=5/)
  expect(engine.output()).not.toContain('xylophone')
  expect(engine.output()).not.toContain(engine.key)
})
