import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { modelAlias, startEngine, tinyEmbeddingModel, tinyModel } from './support/engine.ts'
import type { TestEngine } from './support/engine.ts'

describe.each([
  { type: 'chat', file: tinyModel, size: 128 },
  { type: 'embedding', file: tinyEmbeddingModel, size: 128 },
])('a model of type $type', ({ type, file, size }) => {
  let engine: TestEngine
  let client: OpenAI
  beforeAll(async () => {
    engine = startEngine({ flags: { '--type': type, '--model': file } })
    client = new OpenAI({ baseURL: `${await engine.ready()}/v1`, apiKey: engine.key, maxRetries: 0 })
  })
  afterAll(() => engine.stop())

  const embed = (input: OpenAI.EmbeddingCreateParams['input'], options: { dimensions?: number } = {}) =>
    client.embeddings.create({ model: modelAlias, input, encoding_format: 'float', ...options })

  test('returns unit vectors in the order of the inputs', async () => {
    const { data, usage } = await embed(['one', 'two words', 'one'])
    expect(data.map((entry) => entry.index)).toEqual([0, 1, 2])
    for (const { embedding } of data) {
      expect(embedding).toHaveLength(size)
      expect(Math.hypot(...embedding)).toBeCloseTo(1, 5)
    }
    expect(data[0]!.embedding).toEqual(data[2]!.embedding)
    expect(data[0]!.embedding).not.toEqual(data[1]!.embedding)
    expect(usage.prompt_tokens).toBeGreaterThan(3)
    expect(usage.total_tokens).toBe(usage.prompt_tokens)
  })

  test('tells what a request used', async () => {
    const metrics = async () => {
      const headers = { authorization: `Bearer ${engine.key}` }
      const text = await (await fetch(`${await engine.url()}/metrics`, { headers })).text()
      return Number(/^berth_engine_prompt_tokens_total (\d+)$/m.exec(text)![1])
    }
    const before = await metrics()
    const { usage } = await client.embeddings.create(
      { model: modelAlias, input: ['one', 'two words'] },
      { headers: { 'x-request-id': `known-${type}` } },
    )
    const path = `/requests/known-${type}/usage`
    const told: { usage?: object } = await client.get(path)
    expect(told.usage).toMatchObject({ prompt_tokens: usage.prompt_tokens, completion_tokens: 0 })
    expect((await metrics()) - before).toBe(usage.prompt_tokens)
  })

  test('returns the same numbers as base64, the default of the OpenAI client', async () => {
    const response = await engine.post('/v1/embeddings', {
      model: modelAlias,
      input: 'x',
      encoding_format: 'base64',
    })
    const { data } = (await response.json()) as { data: { embedding: string }[] }
    expect(typeof data[0]!.embedding).toBe('string')
    const decoded = await client.embeddings.create({ model: modelAlias, input: 'x' })
    expect(decoded.data[0]!.embedding).toEqual((await embed('x')).data[0]!.embedding)
  })

  test.each([
    ['nothing', '', 'input'],
    ['an empty list', [], 'input'],
    ['a list with an empty text', ['a', ''], 'input'],
    ['tokens outside the vocabulary', [1, 2, 10_000_000], 'input'],
    ['an empty token array', [[1], []], 'input'],
    ['more than the context', ['a', 'word '.repeat(3000)], 'input.1'],
  ])('refuses %s', async (_, input, param) => {
    const response = await engine.post('/v1/embeddings', { model: modelAlias, input })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({
      error: { param: expect.stringContaining(param) as string },
    })
  })

  const readVector = async (input: unknown, more: object) => {
    const response = await engine.post('/v1/embeddings', { model: modelAlias, input, ...more })
    const body = (await response.json()) as OpenAI.CreateEmbeddingResponse & { error?: { param: string } }
    return {
      status: response.status,
      vector: body.data?.[0]?.embedding,
      usage: body.usage,
      error: body.error,
    }
  }
  const long = 'a ship in a harbor '.repeat(700)

  test.each([
    [{ truncate_prompt_tokens: -1 }],
    [{ truncate_prompt_tokens: 1_000_000 }],
    [{ truncation: true }],
    [{ truncate: 'END' }],
    [{ truncate: true }],
  ])('a text is cut at the last token that fits with %j', async (more) => {
    const limit = await readLimit()
    expect(await readVector(long, more)).toMatchObject({ status: 200, usage: { prompt_tokens: limit } })
    const { usage } = await readVector([long, 'a ship'], more)
    expect(usage.prompt_tokens).toBeGreaterThan(limit)
  })

  test('a text is cut at a number of tokens, and a shorter one stays unchanged', async () => {
    const cut = await readVector('a ship in a harbor', { truncate_prompt_tokens: 4 })
    expect(cut).toMatchObject({ status: 200, usage: { prompt_tokens: 4 } })
    const whole = await readVector('a ship', {})
    const kept = await readVector('a ship', { truncate_prompt_tokens: 100 })
    expect([kept.vector, kept.usage]).toEqual([whole.vector, whole.usage])
    expect(cut.vector).not.toEqual((await readVector('a ship in a harbor', {})).vector)
  })

  test.each([
    [{ truncate_prompt_tokens: 0 }, 'truncate_prompt_tokens'],
    [{ truncate: 'START' }, 'truncate'],
    [{ max_chunks_per_doc: 2 }, 'max_chunks_per_doc'],
    [{ overlap_tokens: 2 }, 'overlap_tokens'],
    [{ instruction: 'Embed.' }, 'instruction'],
    [{ dimensions: 7 }, 'dimensions'],
  ])('%j is refused by name', async (more, param) => {
    expect(await readVector('a ship', more)).toMatchObject({ status: 400, error: { param } })
  })

  test('a text has as many tokens as /tokenize says, and `max_model_len` are accepted', async () => {
    const limit = await readLimit()
    const word = (await tokenize('a ship')).tokens[1]!
    const added = (await readVector([word], {})).usage.prompt_tokens - 1
    const most = Array.from({ length: limit - added }, () => word)
    expect(await readVector(most, {})).toMatchObject({ status: 200, usage: { prompt_tokens: limit } })
    const refused = await engine.post('/v1/embeddings', { model: modelAlias, input: [...most, word] })
    expect(await refused.json()).toMatchObject({
      error: { message: expect.stringContaining(` ${limit} tokens`) },
    })
    const { count } = await tokenize('a ship in a harbor')
    expect((await readVector('a ship in a harbor', {})).usage.prompt_tokens).toBe(count)
  })

  const tokenize = async (prompt: string) =>
    (await (await engine.post('/tokenize', { model: modelAlias, prompt })).json()) as {
      count: number
      tokens: number[]
      max_model_len: number
    }
  const readLimit = async () => (await tokenize('')).max_model_len

  test('embeds token arrays of the model’s vocabulary', async () => {
    const { data, usage } = await embed([[5, 6, 7], [8]])
    expect(data).toHaveLength(2)
    expect(usage.prompt_tokens).toBeGreaterThanOrEqual(4)
    expect((await embed([5, 6, 7])).data[0]!.embedding).toEqual(data[0]!.embedding)
  })

  test("rejects dimensions other than the model's", async () => {
    expect((await embed('x', { dimensions: size })).data).toHaveLength(1)
    await expect(embed('x', { dimensions: 64 })).rejects.toMatchObject({ status: 400 })
  })

  test('chats only with a chat model', async () => {
    const response = await engine.chat({ max_tokens: 2 })
    expect(response.status).toBe(type === 'chat' ? 200 : 400)
    await response.body?.cancel()
  })
})
