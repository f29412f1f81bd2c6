import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { registerClient } from '../../support/client.ts'
import type { Client } from '../../support/client.ts'
import { deploy } from '../../support/deployments.ts'
import { writeRerankerCatalog } from '../../support/random-reranker.ts'
import { answerJson, startRecordingEngine } from '../../support/recording-engine.ts'
import type { RecordingEngine } from '../../support/recording-engine.ts'
import { createScriptedRuntime } from '../../support/scripted-runtime.ts'
import { startTestServer } from '../../support/server.ts'
import type { TestServer, TestServerOptions } from '../../support/server.ts'

const path = '/v1/rerank'
const documents = ['a harbor', 'the dog', 'a ship', 'my good friend']
const llamaServer = process.env['LLAMA_SERVER_COMMAND']

/** Starts a server whose catalog has a reranking model, and deploys it. */
function useReranker(options: () => TestServerOptions | Promise<TestServerOptions>) {
  const used = {} as { server: TestServer; client: Client; id: string; folder: string }
  beforeAll(async () => {
    used.folder = await mkdtemp(join(tmpdir(), 'berth-reranker-'))
    const { settings, ...others } = await options()
    const catalog = { CATALOG_FILE: await writeRerankerCatalog(used.folder) }
    used.server = await startTestServer({ ...others, settings: { ...settings, ...catalog } })
    used.client = await registerClient(used.server.url)
    used.id = (await deploy(used.client, 'random-reranker')).id
  }, 60_000)
  afterAll(async () => {
    await used.server.close()
    await rm(used.folder, { recursive: true })
  })
  const rank = (body: object) =>
    used.client.post(path, { model: used.id, query: 'a ship', documents, ...body })
  const readUsage = async () => (await used.client.get(`/api/v1/model-deployments/${used.id}/usage`)).body
  return Object.assign(used, { rank, readUsage })
}

describe.each([
  { engine: 'the embedded engine', settings: {} },
  ...(llamaServer === undefined
    ? []
    : [{ engine: 'LLAMA_SERVER_COMMAND', settings: { LLAMA_SERVER_COMMAND: llamaServer } }]),
])('a reranking model on $engine', ({ settings }) => {
  const used = useReranker(() => ({ settings }))

  test('POST /v1/rerank: the most relevant documents come first, and the tokens are metered', async () => {
    const { status, body } = await used.rank({})
    expect(status, JSON.stringify(body)).toBe(200)
    expect(body).toEqual({
      id: expect.stringMatching(/./),
      model: used.id,
      results: expect.any(Array),
      usage: { prompt_tokens: expect.any(Number), total_tokens: body.usage.prompt_tokens },
    })
    const scores = body.results.map(({ relevance_score }: { relevance_score: number }) => relevance_score)
    expect(new Set(scores).size).toBe(4)
    expect(scores).toEqual(scores.toSorted((one: number, other: number) => other - one))
    for (const { index, document } of body.results) expect(document).toEqual({ text: documents[index] })
    await expect.poll(used.readUsage).toMatchObject({
      requests: 1,
      input_tokens: body.usage.prompt_tokens,
      output_tokens: 0,
    })
  })

  test('/rerank and /v2/rerank answer as /v1/rerank, and Cohere’s fields are enough', async () => {
    const { body: expected } = await used.rank({})
    for (const alias of ['/rerank', '/v2/rerank']) {
      const asked = { model: used.id, query: 'a ship', documents, top_n: 4 }
      const { status, body } = await used.client.post(alias, asked)
      expect([status, body]).toEqual([200, { ...expected, id: expect.stringMatching(/./) }])
      const refused = await used.client.post(alias, { ...asked, documents: 'a' })
      expect(refused).toMatchObject({ status: 400, body: { error: { param: 'documents' } } })
    }
  })

  test('POST /v1/rerank: a document has the same score wherever it is, and as an object', async () => {
    const scoreOf = async (list: unknown[], position: number) => {
      const { results } = (await used.rank({ documents: list })).body
      return results.find(({ index }: { index: number }) => index === position).relevance_score
    }
    const alone = await scoreOf(['a harbor'], 0)
    expect(await scoreOf(['x', { text: 'a harbor', title: 'Harbors' }], 1)).toBeCloseTo(alone, 5)
  })

  test('POST /v1/rerank: top_n limits the results, and return_documents leaves the documents out', async () => {
    const all = (await used.rank({})).body.results
    const { body } = await used.rank({ top_n: 2, return_documents: false })
    expect(body.results).toEqual(
      all.slice(0, 2).map(({ index }: { index: number }) => ({ index, relevance_score: expect.any(Number) })),
    )
    expect((await used.rank({ top_n: 99 })).body.results).toHaveLength(4)
  })

  test('POST /v1/rerank: a document that is longer than the context is refused', async () => {
    const answer = await used.rank({ documents: ['a', 'a ship in a harbor '.repeat(200)] })
    expect(answer).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringMatching(/context/) } },
    })
  })

  const isEmbedded = settings.LLAMA_SERVER_COMMAND === undefined
  const long = 'a ship in a harbor '.repeat(200)
  test.each([
    { truncate_prompt_tokens: -1 },
    { truncate_prompt_tokens: 20 },
    { max_tokens_per_doc: 8 },
    { truncation: true },
    { truncate: 'END' },
  ])('POST /v1/rerank: %j cuts long documents, or is refused by name', async (more) => {
    const answer = await used.rank({ documents: ['a', long], ...more })
    const [param] = Object.keys(more)
    if (!isEmbedded) {
      expect(answer).toMatchObject({ status: 400, body: { error: { param } } })
      return
    }
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    const kept = await used.rank({ documents: ['a', 'a'], ...more })
    const scoreOf = (body: any, position: number) =>
      body.results.find(({ index }: { index: number }) => index === position).relevance_score
    expect(scoreOf(answer.body, 0)).toBeCloseTo(scoreOf(kept.body, 0), 5)
  })

  test.each(['max_chunks_per_doc', 'overlap_tokens', 'instruction'])(
    'POST /v1/rerank: `%s` is refused by name',
    async (param) => {
      const value = param === 'instruction' ? 'Rank.' : 2
      expect(await used.rank({ [param]: value })).toMatchObject({ status: 400, body: { error: { param } } })
      expect((await used.rank({ [param]: null })).status).toBe(200)
    },
  )

  test('POST /v1/rerank: a query that is too long is named', async () => {
    const answer = await used.rank({ query: long })
    expect(answer.status).toBe(400)
    if (isEmbedded) expect(answer.body.error.param).toBe('query')
  })

  test('POST /v1/rerank: the engine stops when the caller leaves', async () => {
    const before = (await used.readUsage()).input_tokens
    const long = Array.from({ length: 2000 }, () => 'a ship in a harbor')
    const leaving = AbortSignal.timeout(1_000)
    const asked = fetch(used.server.url + path, {
      method: 'POST',
      signal: leaving,
      headers: { cookie: used.client.cookie(), 'content-type': 'application/json' },
      body: JSON.stringify({ model: used.id, query: 'a ship', documents: long }),
    })
    await expect(asked).rejects.toThrow()
    // The engine is free for others long before it could have read all documents.
    const startedAt = performance.now()
    expect((await used.rank({})).status).toBe(200)
    expect(performance.now() - startedAt).toBeLessThan(10_000)
    if (settings.LLAMA_SERVER_COMMAND === undefined) {
      await expect.poll(async () => (await used.readUsage()).input_tokens).toBeGreaterThan(before + 200)
    }
  })

  test('POST /tokenize: counts the tokens of a text', async () => {
    const { status, body } = await used.client.post('/tokenize', { model: used.id, prompt: 'a ship' })
    expect([status, body.count > 0]).toEqual([200, true])
  })

  test('other routes name the one to use', async () => {
    for (const [other, body] of [
      ['/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }] }],
      ['/v1/embeddings', { input: 'Hi' }],
    ] as const) {
      expect(await used.client.post(other, { model: used.id, ...body })).toMatchObject({
        status: 400,
        body: {
          error: { message: 'random-reranker is a reranking model. Send its requests to /v1/rerank.' },
        },
      })
    }
  })

  test('GET /v1/models: type and capabilities say that the model ranks', async () => {
    const { body } = await used.client.get('/v1/models')
    expect(body.data).toMatchObject([{ id: 'random-reranker', type: 'rerank', capabilities: ['rerank'] }])
    const types = ['LLM', 'rerank'].map((type) =>
      used.client.get(`/api/v1/deployable-models?model_type=${type}`),
    )
    const [llms, rerankers] = await Promise.all(types)
    expect(llms!.body.items).toEqual([])
    expect(rerankers!.body.items).toMatchObject([{ id: 'random-reranker', model_type: 'rerank' }])
  })
})

describe('an engine double', () => {
  let engine: RecordingEngine
  const used = useReranker(async () => {
    engine = await startRecordingEngine()
    return { runtime: createScriptedRuntime(engine.url) }
  })
  afterAll(() => engine.close())

  const answer = (body: object, status = 200) =>
    engine.answer((response) => answerJson(response, JSON.stringify(body), status))
  const results = [
    { index: 1, relevance_score: -3.5 },
    { index: 0, relevance_score: 2.25 },
  ]
  const two = { documents: ['a', 'b'] }

  test('the engine gets texts, unknown fields included, and its form becomes the common one', async () => {
    answer({ id: 'rerank-7', model: 'random-reranker', results, usage: { total_tokens: 9 } })
    const body = { documents: [{ text: 'a' }, 'b'], top_n: 1, truncate_prompt_tokens: 8 }
    expect(await used.rank(body)).toMatchObject({
      status: 200,
      body: {
        id: 'rerank-7',
        model: used.id,
        results: [{ index: 0, relevance_score: 2.25, document: { text: 'a' } }],
        usage: { prompt_tokens: 9, total_tokens: 9 },
      },
    })
    expect(engine.last().path).toBe('/v1/rerank')
    expect(JSON.parse(engine.last().body)).toEqual({
      model: 'random-reranker',
      query: 'a ship',
      documents: ['a', 'b'],
      top_n: 1,
      return_documents: false,
      return_len: true,
      truncate_prompt_tokens: 8,
    })
    await expect.poll(used.readUsage).toMatchObject({ requests: 1, input_tokens: 9 })
  })

  test('the tokens of an engine that has them in `meta` are metered', async () => {
    const before = (await used.readUsage()).input_tokens
    const tokens = { input_tokens: 30, output_tokens: 30 }
    const ranked = results.map((result) => ({ ...result, document: null }))
    answer({ id: 'x', results: ranked, meta: { tokens, warnings: null } })
    const { body } = await used.rank(two)
    expect(body.usage).toEqual({ prompt_tokens: 30, total_tokens: 30 })
    await expect.poll(async () => (await used.readUsage()).input_tokens).toBe(before + 30)
    expect((await used.readUsage()).output_tokens).toBe(0)
    answer({ id: 'x', results, meta: { tokens: null } })
    expect((await used.rank(two)).body.usage).toBeNull()
  })

  const noDocument = 'a result whose index belongs to no document'
  const result = (index: unknown, score: unknown = 1) => ({ index, relevance_score: score })
  test.each([
    ['no results', {}, 'no results'],
    ['too few results', { results: [result(0)] }, '1 results where 2 belong'],
    ['an empty list', { results: [] }, '0 results where 2 belong'],
    ['a document twice', { results: [result(0), result(0)] }, 'two results with the index 0'],
    ['an index that no document has', { results: [result(0), result(4)] }, noDocument],
    ['a negative index', { results: [result(0), result(-1)] }, noDocument],
    ['half an index', { results: [result(0), result(0.5)] }, noDocument],
    ['an index that is a text', { results: [result(0), result('1')] }, noDocument],
    ['null as a result', { results: [result(0), null] }, noDocument],
    ['no score', { results: [result(0), result(1, null)] }, 'a score that is no number'],
  ])('502 if the engine sends %s, and nothing is metered', async (_name, body, problem) => {
    await used.server.application.tokens.flush()
    const before = await used.readUsage()
    answer({ ...body, usage: { total_tokens: 1_000 } })
    expect(await used.rank(two)).toMatchObject({
      status: 502,
      body: { error: { code: 'engine_response_invalid', message: `The engine sent ${problem}.` } },
    })
    answer({ results, usage: { total_tokens: 1 } })
    await used.rank(two)
    await expect.poll(used.readUsage).toMatchObject({
      requests: before.requests + 1,
      input_tokens: before.input_tokens + 1,
    })
  })

  test('502 if the engine sends no JSON', async () => {
    engine.answer((response) => answerJson(response, '{"results":[{"index":0,"relevance_score":NaN}]}'))
    const refused = await used.rank({ documents: ['a'] })
    expect(refused).toMatchObject({ status: 502, body: { error: { code: 'engine_response_invalid' } } })
  })

  test('an engine may send the results of all documents in spite of `top_n`', async () => {
    answer({ results })
    for (const top_n of [1, 2, 9]) {
      expect((await used.rank({ ...two, top_n })).body.results).toHaveLength(Math.min(top_n, 2))
    }
  })

  test('an error of the engine stays unchanged', async () => {
    answer({ error: { message: 'too long', code: 400 } }, 400)
    expect(await used.rank({})).toMatchObject({ status: 400, body: { error: { message: 'too long' } } })
  })

  test.each([
    ['query', { query: 7 }],
    ['documents', { documents: [] }],
    ['documents', { documents: 'a' }],
    ['documents.1', { documents: ['a', 7] }],
    ['documents.0.text', { documents: [{ title: 'a' }] }],
    ['top_n', { top_n: 0 }],
    ['rank_fields', { rank_fields: ['title'] }],
  ])('400 names %s', async (field, body) => {
    const received = engine.requests.length
    const refused = await used.rank(body)
    expect(refused.status).toBe(400)
    expect(refused.body.error.message).toContain(`\`${field}\``)
    expect(engine.requests).toHaveLength(received)
  })
})
