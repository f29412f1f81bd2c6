import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { registerClient } from '../../support/client.ts'
import type { Client } from '../../support/client.ts'
import { deploy } from '../../support/deployments.ts'
import { answerJson, startRecordingEngine } from '../../support/recording-engine.ts'
import type { RecordingEngine } from '../../support/recording-engine.ts'
import { createScriptedRuntime } from '../../support/scripted-runtime.ts'
import { startTestServer } from '../../support/server.ts'
import type { TestServer } from '../../support/server.ts'

const path = '/v1/embeddings'

let server: TestServer
let client: Client
let id: string
beforeAll(async () => {
  server = await startTestServer()
  client = await registerClient(server.url)
  id = (await deploy(client, 'berth-tiny-embedding')).id
})
afterAll(() => server.close())

test('POST /v1/embeddings: one vector per text, in order, and the tokens are metered', async () => {
  const answer = await client.post(path, {
    model: 'berth-tiny-embedding',
    input: ['a ship', 'a harbor', 'a ship'],
  })
  expect(answer.status).toBe(200)
  expect(answer.body).toMatchObject({ object: 'list', data: [{ index: 0 }, { index: 1 }, { index: 2 }] })
  const [ship, harbor, again] = answer.body.data.map(({ embedding }: { embedding: number[] }) => embedding)
  expect(ship.length).toBeGreaterThan(1)
  expect(again).toEqual(ship)
  expect(harbor).not.toEqual(ship)
  await expect
    .poll(async () => (await client.get(`/api/v1/model-deployments/${id}/usage`)).body)
    .toMatchObject({ requests: 1, input_tokens: answer.body.usage.prompt_tokens, output_tokens: 0 })
})

test('POST /v1/embeddings: a long list of texts is embedded', async () => {
  const input = Array.from({ length: 40 }, () => 'a ship in a harbor '.repeat(25))
  const { status, body } = await client.post(path, { model: id, input })
  expect([status, body.data?.length]).toEqual([200, 40])
})

test('POST /v1/embeddings: encoding_format base64 contains the same numbers as 32-bit floats', async () => {
  const ask = { model: id, input: 'a ship' }
  const floats: number[] = (await client.post(path, ask)).body.data[0].embedding
  const encoded = (await client.post(path, { ...ask, encoding_format: 'base64' })).body.data[0].embedding
  const bytes = Buffer.from(encoded, 'base64')
  expect(floats.map((_, index) => bytes.readFloatLE(index * 4))).toEqual(floats.map(Math.fround))
  expect(bytes).toHaveLength(floats.length * 4)
})

describe('an engine double', () => {
  let engine: RecordingEngine
  let other: TestServer
  let person: Client
  let model: string
  beforeAll(async () => {
    engine = await startRecordingEngine()
    other = await startTestServer({ runtime: createScriptedRuntime(engine.url) })
    person = await registerClient(other.url)
    model = (await deploy(person, 'berth-tiny-embedding')).id
  })
  afterAll(async () => {
    await other.close()
    await engine.close()
  })

  const embed = (body: object) => person.post(path, { model, ...body })
  const item = (index: number, embedding: unknown) => ({ object: 'embedding', index, embedding })
  const answer = (data: readonly object[]) =>
    engine.answer((response) =>
      answerJson(response, JSON.stringify({ data, usage: { prompt_tokens: 7, total_tokens: 7 } })),
    )

  test('POST /v1/embeddings: encoding_format base64 when the engine returns numbers and when it returns base64', async () => {
    const ask = { input: 'a', encoding_format: 'base64' }
    engine.answer((response) =>
      answerJson(response, '{"x":1,"data":[{"index":0,"embedding":[1,-0.5,1e39]}]}'),
    )
    const encoded = await embed(ask)
    expect(encoded.headers.get('content-type')).toMatch(/^application\/json/)
    expect(encoded.body).toMatchObject({ x: 1, data: [{ index: 0, embedding: expect.any(String) }] })
    const bytes = Buffer.from(encoded.body.data[0].embedding, 'base64')
    expect([bytes.readFloatLE(0), bytes.readFloatLE(4), bytes.readFloatLE(8)]).toEqual([1, -0.5, Infinity])
    expect(JSON.parse(engine.last().body)).toMatchObject({ encoding_format: 'base64' })

    const own = '{ "x":1.0, "data":[{"embedding":"AACAPw==", "index":0}]}'
    engine.answer((response) => answerJson(response, own))
    const response = await fetch(other.url + path, {
      method: 'POST',
      headers: { cookie: person.cookie(), 'content-type': 'application/json' },
      body: JSON.stringify({ model, ...ask }),
    })
    expect(await response.text()).toBe(own)
  })

  test.each([
    ['too few embeddings', [item(0, [1]), item(2, [1])], '2 embeddings for 3 texts'],
    ['an index twice', [item(0, [1]), item(1, [1]), item(1, [1])], 'two embeddings with the index 1'],
    [
      'other lengths',
      [item(0, [1]), item(1, [1, 2]), item(2, [1])],
      'embeddings of different lengths: 1 and 2 values',
    ],
    [
      'null in a list',
      [item(0, [1]), item(1, [null]), item(2, [1])],
      'an embedding with values that are no numbers',
    ],
  ])('POST /v1/embeddings: 502 for %s, and nothing is metered', async (_name, data, problem) => {
    const readUsage = async () => (await person.get(`/api/v1/model-deployments/${model}/usage`)).body
    await other.application.tokens.flush()
    const before = await readUsage()
    for (const encoding_format of ['float', 'base64']) {
      answer(data)
      expect(await embed({ input: ['a', 'b', 'c'], encoding_format })).toMatchObject({
        status: 502,
        body: { error: { code: 'engine_response_invalid', message: `The engine sent ${problem}.` } },
      })
    }
    answer([item(0, [1])])
    expect((await embed({ input: 'a' })).status).toBe(200)
    await expect.poll(readUsage).toMatchObject({
      requests: before.requests + 1,
      input_tokens: before.input_tokens + 7,
    })
  })

  test('POST /v1/embeddings: a list that is too long to hold breaks off if an item is missing', async () => {
    const input = Array.from({ length: 40 }, () => 'a')
    const data = input.map((_, index) =>
      item(
        index,
        Array.from({ length: 1024 }, () => 0.123456789012),
      ),
    )
    answer(data)
    expect((await embed({ input })).body.data).toHaveLength(40)
    answer(data.slice(1))
    await expect(embed({ input })).rejects.toThrow()
  })

  test.each([
    ['input.2', ['a', 'b', '']],
    ['input.1', ['a', null]],
    ['input.1', ['a', 5, 'b']],
    ['input.1', ['a', ['b']]],
    ['input.1', ['a', [5, 6], 'b']],
    ['input.0', [{ text: 'a' }]],
    ['input', ''],
  ])('POST /v1/embeddings: 400 names %s of %j before the engine is asked', async (param, input) => {
    const received = engine.requests.length
    expect(await embed({ input })).toMatchObject({
      status: 400,
      body: { error: { param, message: expect.stringContaining(`\`${param}\``) } },
    })
    expect(engine.requests).toHaveLength(received)
  })
})

test('POST /v1/embeddings: a validation error from the engine reaches the caller', async () => {
  const answer = await client.post(path, { model: id, input: { not: 'a text' } })
  expect(answer.status).toBe(400)
  expect(answer.body.error).toMatchObject({
    type: 'invalid_request_error',
    message: expect.stringContaining('input'),
  })
})

test.each([[1, 2, 3], [[464, 286], [290]], '[ [\n 7, 8]]', '[[[[5'])(
  'POST /v1/embeddings: the token ids %j are refused with a way out',
  async (input) => {
    const text = typeof input === 'string' ? input : JSON.stringify(input)
    const body = `{"model":"berth-tiny-embedding","input":${text}}`
    const answer = await client.post('/v1/embeddings', body)
    expect(answer.status).toBe(400)
    if (text !== '[[[[5') expect(answer.body.error.message).toContain('check_embedding_ctx_length=False')
  },
)

test('POST /v1/embeddings: texts that look like token ids are texts', async () => {
  const input = ['[1]', '1', '[[2']
  const answer = await client.post('/v1/embeddings', { model: 'berth-tiny-embedding', input })
  expect(answer).toMatchObject({ status: 200, body: { data: [{}, {}, {}] } })
})
