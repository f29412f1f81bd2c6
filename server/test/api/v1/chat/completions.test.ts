import { afterAll, beforeAll, expect, test } from 'vitest'
import { registerClient } from '../../../support/client.ts'
import { deploy, waitForStatus } from '../../../support/deployments.ts'
import { setRole } from '../../../support/roles.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const path = '/v1/chat/completions'
const messages = [{ role: 'user', content: 'Hello, harbor!' }]

let server: TestServer
let client: Awaited<ReturnType<typeof registerClient>>
let deployment: { id: string; inference_model_uid: string }
beforeAll(async () => {
  server = await startTestServer()
  client = await registerClient(server.url)
  deployment = await deploy(client)
})
afterAll(() => server.close())

test.each([
  ['id', () => deployment.id],
  ['inference_model_uid', () => deployment.inference_model_uid],
  ['model_name', () => 'berth-tiny'],
])('POST /v1/chat/completions: `model` may be the %s of a deployment', async (_what, model) => {
  const answer = await client.post(path, { model: model(), messages, max_tokens: 4 })
  expect(answer.status).toBe(200)
  expect(answer.body).toMatchObject({
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: expect.any(String) } }],
    usage: { prompt_tokens: expect.any(Number), completion_tokens: expect.any(Number) },
  })
})

test('POST /v1/completions: `echo` and `suffix` reach the embedded engine, as do fields of load tools', async () => {
  const complete = (more: object) =>
    client.post('/v1/completions', { model: deployment.id, prompt: 'A ship', max_tokens: 1, ...more })
  const { status, body } = await complete({ echo: true, logprobs: 1 })
  expect(status, JSON.stringify(body)).toBe(200)
  const [{ text, logprobs }] = body.choices
  expect(text.startsWith('A ship')).toBe(true)
  // lm-eval reads all entries but the last one, which must be the generated token's.
  expect(logprobs.token_logprobs).toHaveLength(body.usage.prompt_tokens + 1)
  expect(logprobs.text_offset.at(-1)).toBe('A ship'.length)
  // The bundled model can't fill in, which only the engine knows.
  const filled = await complete({ suffix: 'in the harbor' })
  expect([filled.status, filled.body.error]).toMatchObject([
    400,
    { param: 'suffix', message: expect.stringContaining("can't fill in text") },
  ])
  const long = await client.post(path, { model: deployment.id, messages, max_tokens: 40, ignore_eos: true })
  expect(long.body.usage.completion_tokens).toBe(40)
  const least = await complete({ max_tokens: 40, min_tokens: 30 })
  expect(least.body.usage.completion_tokens).toBeGreaterThanOrEqual(30)
})

test('POST /v1/chat/completions: the usage that the engine reports is metered, with and without streaming', async () => {
  const person = await registerClient(server.url)
  const { id } = await deploy(person)
  const usageOf = async () => (await person.get(`/api/v1/model-deployments/${id}/usage`)).body
  const asked = { model: id, messages, max_tokens: 4, temperature: 0, seed: 1 }
  const { usage } = (await person.post(path, asked)).body
  expect(usage.prompt_tokens).toBeGreaterThan(0)
  const stream = await person.post(path, { ...asked, stream: true })
  expect(stream.body).toMatch(/^data: \{.*\}\n\n/)
  expect(stream.body).toMatch(/\n\ndata: \[DONE\]\n\n$/)
  expect(stream.body).not.toContain('"prompt_tokens"')
  await expect.poll(usageOf).toMatchObject({
    requests: 2,
    input_tokens: 2 * usage.prompt_tokens,
    output_tokens: 2 * usage.completion_tokens,
  })
})

test('POST /v1/chat/completions: a validation error from the engine reaches the caller', async () => {
  const answer = await client.post(path, { model: deployment.id, messages: 'not a list' })
  expect(answer.status).toBe(400)
  expect(answer.body.error).toMatchObject({
    type: 'invalid_request_error',
    message: expect.stringContaining('messages'),
  })
})

test('POST /v1/chat/completions: the role viewer may send requests', async () => {
  const person = await registerClient(server.url)
  await deploy(person)
  await setRole(server, person.email, 'viewer')
  const answer = await person.post(path, { model: 'berth-tiny', messages, max_tokens: 1 })
  expect(answer.status).toBe(200)
})

test('POST /v1/chat/completions: another user’s deployment is a 404 model_not_found by every name', async () => {
  const stranger = await registerClient(server.url)
  for (const model of [deployment.id, deployment.inference_model_uid, 'berth-tiny']) {
    const answer = await stranger.post(path, { model, messages })
    expect(answer.status).toBe(404)
    expect(answer.body.error.code).toBe('model_not_found')
  }
})

test('POST /v1/chat/completions: a terminated deployment is a 404 model_not_found', async () => {
  const person = await registerClient(server.url)
  const { id } = await deploy(person)
  await person.delete(`/api/v1/model-deployments/${id}`)
  await waitForStatus(person, id, 'terminated')
  for (const model of [id, 'berth-tiny']) {
    const answer = await person.post(path, { model, messages })
    expect(answer.status).toBe(404)
    expect(answer.body.error.code).toBe('model_not_found')
  }
})

test('a stopped engine is a 502 upstream_unavailable, then the worker restarts it', async () => {
  const person = await registerClient(server.url)
  const { id, instances } = await deploy(person)
  const stop = () => server.application.runtimes.all[0]!.stopEngine(instances[0]!.id)
  await expect.poll(stop, { timeout: 60_000 }).toBe(true)
  const ask = () => person.post(path, { model: id, messages, max_tokens: 1 })
  const first = await ask()
  expect(first.status).toBe(502)
  expect(first.body.error.code).toBe('upstream_unavailable')
  await expect.poll(async () => (await ask()).status, { timeout: 60_000 }).toBe(200)
  const { items } = (await person.get(`/api/v1/model-deployments/${id}/events`)).body
  expect(items.map(({ message }: { message: string }) => message)).toContain(
    'The model is ready for requests again.',
  )
})
