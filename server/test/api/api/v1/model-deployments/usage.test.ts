import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { registerClient } from '../../../../support/client.ts'
import type { Client } from '../../../../support/client.ts'
import { deploy, waitForStatus } from '../../../../support/deployments.ts'
import { answerJson, startRecordingEngine } from '../../../../support/recording-engine.ts'
import type { RecordingEngine } from '../../../../support/recording-engine.ts'
import { createScriptedRuntime } from '../../../../support/scripted-runtime.ts'
import { startTestServer } from '../../../../support/server.ts'
import type { TestServer } from '../../../../support/server.ts'

const path = '/api/v1/model-deployments'
const nothing = { requests: 0, input_tokens: 0, output_tokens: 0 }

let now = new Date('2026-03-01T10:59:50.000Z')
let engine: RecordingEngine
let server: TestServer
let client: Client
beforeAll(async () => {
  engine = await startRecordingEngine()
  server = await startTestServer({ runtime: createScriptedRuntime(engine.url) })
  client = await registerClient(server.url)
})
afterEach(() => engine.answer((response) => response.end('{}')))
afterAll(async () => {
  await server.close()
  await engine.close()
})

async function readUsage(id: string) {
  const { requests, input_tokens, output_tokens } = (await client.get(`${path}/${id}/usage`)).body
  return { requests, input_tokens, output_tokens }
}

function sse(...chunks: unknown[]): string {
  return chunks
    .map((chunk) => `data: ${typeof chunk === 'string' ? chunk : JSON.stringify(chunk)}\n\n`)
    .join('')
}

test('GET …/{id}/usage: no usage yet, but instance time runs until the release', async () => {
  const { id } = await deploy(client)
  const first = (await client.get(`${path}/${id}/usage`)).body
  expect(first).toEqual({
    ...nothing,
    instance_seconds: expect.any(Number),
    cost: expect.stringMatching(/^0\.0\d+$/),
    currency: 'usd',
    asleep_seconds: 0,
    saved: '0',
  })
  expect(first.cost / first.instance_seconds).toBeCloseTo(0.00108, 3)
  await expect
    .poll(async () => (await client.get(`${path}/${id}/usage`)).body.instance_seconds)
    .toBeGreaterThan(first.instance_seconds)
  await client.delete(`${path}/${id}`)
  const ended = await waitForStatus(client, id, 'terminated')
  const last = (await client.get(`${path}/${id}/usage`)).body
  expect(last.instance_seconds).toBeLessThanOrEqual(
    (Date.parse(ended.terminated_at!) - Date.parse(ended.created_at)) / 1000,
  )
  expect((await client.get(`${path}/${id}/usage`)).body).toEqual(last)
})

test('GET …/{id}/usage: sums non-streamed responses', async () => {
  const { id } = await deploy(client)
  engine.answer((response) =>
    answerJson(response, '{"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}'),
  )
  await client.post('/v1/chat/completions', { model: id, messages: [{ role: 'user', content: 'Hello' }] })
  await client.post('/v1/chat/completions', { model: id, messages: [{ role: 'user', content: 'Hello' }] })
  await expect.poll(() => readUsage(id)).toEqual({ requests: 2, input_tokens: 6, output_tokens: 8 })
})

test('GET …/{id}/usage: embeddings have only input tokens', async () => {
  const { id } = await deploy(client, 'berth-tiny-embedding')
  engine.answer((response) =>
    answerJson(
      response,
      '{"data":[{"index":0,"embedding":[1]}],"usage":{"prompt_tokens":5,"total_tokens":5}}',
    ),
  )
  await client.post('/v1/embeddings', { model: id, input: 'a' })
  await expect.poll(() => readUsage(id)).toEqual({ requests: 1, input_tokens: 5, output_tokens: 0 })
})

test('GET …/{id}/usage: a stream counts the usage of its last chunk, even if the client does not receive that chunk', async () => {
  const { id } = await deploy(client)
  engine.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(
      sse(
        { choices: [{ delta: { content: 'a' } }] },
        { choices: [{ delta: { content: 'b' } }] },
        { choices: [], usage: { prompt_tokens: 11, completion_tokens: 12 } },
        '[DONE]',
      ),
    )
  })
  await client.post('/v1/chat/completions', {
    model: id,
    messages: [{ role: 'user', content: 'Hello' }],
    stream: true,
  })
  await expect.poll(() => readUsage(id)).toEqual({ requests: 1, input_tokens: 11, output_tokens: 12 })
  const stream_options = { include_usage: true }
  await client.post('/v1/chat/completions', {
    model: id,
    messages: [{ role: 'user', content: 'Hello' }],
    stream: true,
    stream_options,
  })
  await expect.poll(() => readUsage(id)).toEqual({ requests: 2, input_tokens: 22, output_tokens: 24 })
})

test('GET …/{id}/usage: a stream that the client left counts the chunks sent so far', async () => {
  const { id } = await deploy(client)
  engine.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(sse(...['a', 'b', 'c'].map((content) => ({ choices: [{ delta: { content } }] }))))
  })
  const leaving = new AbortController()
  const response = await fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { cookie: client.cookie(), 'content-type': 'application/json' },
    body: JSON.stringify({ model: id, messages: [{ role: 'user', content: 'Hello' }], stream: true }),
    signal: leaving.signal,
  })
  await response.body!.getReader().read()
  leaving.abort()
  // The double never tells its own count.
  await expect
    .poll(() => readUsage(id), { timeout: 20_000 })
    .toEqual({ requests: 1, input_tokens: 0, output_tokens: 3 })
  await expect.poll(() => engine.last().aborted).toBe(true)
})

test('GET …/{id}/usage: engine errors count nothing, and answers with invalid usage only as requests', async () => {
  const { id } = await deploy(client)
  const useless = [
    ['{"error":{"message":"no"},"usage":{"prompt_tokens":9,"completion_tokens":9}}', 400],
    ['{"usage":{"prompt_tokens":-1,"completion_tokens":1}}', 200],
    ['{"usage":{"prompt_tokens":"7","completion_tokens":1}}', 200],
    ['{"usage":{"prompt_tokens":1e99,"completion_tokens":1}}', 200],
    ['{"usage":null}', 200],
    ['not JSON', 200],
  ] as const
  for (const [body, status] of useless) {
    engine.answer((response) => answerJson(response, body, status))
    const answer = await client.request('POST', '/v1/chat/completions', { model: id }).catch(() => null)
    if (body !== 'not JSON') expect(answer?.status).toBe(status)
  }
  engine.answer((response) => answerJson(response, '{"usage":{"prompt_tokens":1,"completion_tokens":1}}'))
  await client.post('/v1/chat/completions', { model: id, messages: [{ role: 'user', content: 'Hello' }] })
  await expect.poll(() => readUsage(id)).toEqual({ requests: 6, input_tokens: 1, output_tokens: 1 })
})

test('usage is stored per UTC hour and summed over hours', async () => {
  const runtime = createScriptedRuntime(engine.url)
  const other = await startTestServer({ runtime, clock: () => now })
  try {
    const person = await registerClient(other.url)
    const { id } = await deploy(person)
    engine.answer((response) => answerJson(response, '{"usage":{"prompt_tokens":1,"completion_tokens":2}}'))
    for (const minutes of [0, 1]) {
      now = new Date(now.getTime() + minutes * 60_000)
      await person.post('/v1/chat/completions', { model: id, messages: [{ role: 'user', content: 'Hello' }] })
    }
    const rows = () =>
      other.application.db
        .selectFrom('token_usage')
        .select(['hour', 'input_tokens'])
        .orderBy('hour')
        .execute()
    await expect.poll(rows).toEqual([
      { hour: new Date('2026-03-01T10:00:00.000Z'), input_tokens: 1 },
      { hour: new Date('2026-03-01T11:00:00.000Z'), input_tokens: 1 },
    ])
    const { body } = await person.get(`${path}/${id}/usage`)
    expect(body).toMatchObject({ requests: 2, input_tokens: 2, output_tokens: 4 })
  } finally {
    await other.close()
  }
})
