// Another Berth, with real engines, is an endpoint of this one.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { deploy, waitForStatus } from '../support/deployments.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const path = '/api/v1/model-deployments'
const messages = [{ role: 'user', content: 'What is 27 + 15?' }]

let far: TestServer
let near: TestServer
let farClient: Client
let client: Client
const ids = { chat: '', embedding: '' }
beforeAll(async () => {
  far = await startTestServer()
  near = await startTestServer({ settings: { RUNTIME: 'endpoints', ENDPOINT_NETWORKS: '127.0.0.0/8' } })
  farClient = await registerClient(far.url)
  client = await registerClient(near.url)
  await deploy(farClient)
  await deploy(farClient, 'berth-tiny-embedding')
  const { status, body } = await client.post('/api/v1/endpoints', {
    name: 'Far',
    base_url: `${far.url}/v1`,
    header: 'Cookie',
    key: farClient.cookie(),
    prices: { input: '2', output: '4' },
  })
  expect([status, body.status], JSON.stringify(body)).toEqual([201, 'ready'])
  for (const [name, model] of [
    ['chat', 'far/berth-tiny'],
    ['embedding', 'far/berth-tiny-embedding'],
  ] as const) {
    ids[name] = (await client.post(path, { model_name: model, alias: name })).body.id
    await waitForStatus(client, ids[name], 'running')
  }
}, 120_000)
afterAll(async () => {
  await near?.close()
  await far?.close()
})

/** Asks this Berth by the alias, and the other one by its own name of the model. */
async function askBoth(route: string, alias: 'chat' | 'embedding', body: object) {
  const model = alias === 'chat' ? 'berth-tiny' : 'berth-tiny-embedding'
  return Promise.all([
    client.post(route, { model: alias, ...body }),
    farClient.post(route, { model, ...body }),
  ])
}

const usageOf = async (server: Client, id: string) => (await server.get(`${path}/${id}/usage`)).body

test('a chat, whole and as a stream, is the other’s answer, and its tokens cost what was named', async () => {
  const greedy = { messages, temperature: 0, max_tokens: 16 }
  const [own, others] = await askBoth('/v1/chat/completions', 'chat', greedy)
  expect([own.status, own.body.choices[0].message]).toEqual([200, others.body.choices[0].message])
  expect(own.body.choices[0].message.content).toContain('42')
  const { prompt_tokens: input, completion_tokens: output } = own.body.usage
  const streamed = await client.post('/v1/chat/completions', { model: 'chat', ...greedy, stream: true })
  const events = String(streamed.body)
    .split('\n')
    .flatMap((line) => (line.startsWith('data: {') ? JSON.parse(line.slice(6)) : []))
  expect(events.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe(
    own.body.choices[0].message.content,
  )
  expect(streamed.body).toContain('[DONE]')
  await expect
    .poll(() => usageOf(client, ids.chat))
    .toMatchObject({
      requests: 2,
      input_tokens: 2 * input,
      output_tokens: 2 * output,
    })
  const { cost } = await usageOf(client, ids.chat)
  expect(Number(cost)).toBeCloseTo((2 * (2 * input + 4 * output)) / 1e6, 12)
})

test('tools, schemas, embeddings, and other protocols', async () => {
  const tool = { type: 'function', function: { name: 'add', parameters: { type: 'object' } } }
  const named = { type: 'function', function: { name: 'add' } }
  const call = { messages, tools: [tool], tool_choice: named, temperature: 0, max_tokens: 24 }
  const [called, calledThere] = await askBoth('/v1/chat/completions', 'chat', call)
  expect(called.status).toBe(calledThere.status)
  const withoutIds = (body: any) =>
    body.choices?.[0].message.tool_calls?.map((each: any) => each.function) ?? body.error
  expect(withoutIds(called.body)).toEqual(withoutIds(calledThere.body))
  const [embedded, embeddedThere] = await askBoth('/v1/embeddings', 'embedding', { input: ['a', 'b'] })
  expect(embedded.body.data).toEqual(embeddedThere.body.data)
  const message = await client.post('/v1/messages', { model: 'chat', messages, max_tokens: 8 })
  expect(message).toMatchObject({
    status: 200,
    body: { type: 'message', usage: { output_tokens: expect.any(Number) } },
  })
  const completion = await client.post('/v1/completions', { model: 'chat', prompt: '1, 2, 3', max_tokens: 4 })
  expect(completion).toMatchObject({ status: 200, body: { object: 'text_completion' } })
})

test('its errors are the caller’s: a long prompt, and a model that is gone', async () => {
  const long = [{ role: 'user', content: 'word '.repeat(40_000) }]
  const [own, others] = await askBoth('/v1/chat/completions', 'chat', { messages: long })
  expect([own.status, own.body.error.code]).toEqual([others.status, others.body.error.code])
  expect(own.body.error.code).toBe('context_length_exceeded')
})

test('a caller who leaves stops the other engine, and pays for what came', async () => {
  await near.application.tokens.flush()
  const before = await usageOf(client, ids.chat)
  const leaving = new AbortController()
  const response = await fetch(`${near.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', cookie: client.cookie() },
    body: JSON.stringify({ model: 'chat', messages, stream: true, max_tokens: 1_000, ignore_eos: true }),
    signal: leaving.signal,
  })
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  // The first event has no text, and so nothing to pay for.
  let received = ''
  while (!/"content":"[^"]/.test(received)) received += (await reader.read()).value ?? ''
  leaving.abort()
  await expect.poll(() => far.application.inference.inFlight.total).toBe(0)
  await expect.poll(() => near.application.inference.inFlight.total).toBe(0)
  await expect.poll(async () => (await usageOf(client, ids.chat)).requests).toBe(before.requests + 1)
  const after = await usageOf(client, ids.chat)
  expect(after.output_tokens - before.output_tokens).toBeLessThan(1_000)
})

test('an endpoint that ends its session is refused, not the caller', async () => {
  await far.application.db.deleteFrom('sessions').execute()
  await expect
    .poll(async () => {
      const { status, body } = await client.post('/v1/chat/completions', { model: 'chat', messages })
      return [status, body.error?.code]
    })
    .toEqual([502, 'endpoint_refused'])
})
