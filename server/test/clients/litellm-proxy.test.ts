import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import getPort from 'get-port'
import OpenAI from 'openai'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { signIn } from './support/signed-in.ts'
import type { SignedIn } from './support/signed-in.ts'

const program = join(process.env['TEST_CLIENTS_GATEWAY'] ?? '', 'bin/litellm')
const key = 'sk-0123456789abcdef0123456789abcdef'
const messages = [{ role: 'user' as const, content: 'What is 27 + 15?' }]
const asked = { model: 'berth-tiny', temperature: 0, max_tokens: 64 }

let started: SignedIn
let connection: Awaited<ReturnType<SignedIn['connect']>>
let folder: string
let url: string
let stop: () => Promise<unknown>
let openai: OpenAI
beforeAll(async () => {
  started = await signIn()
  connection = await started.connect()
  folder = await mkdtemp(join(tmpdir(), 'berth-litellm-'))
  const entry = (name: string) => `
  - model_name: "${name}"
    litellm_params: { model: "openai/${name}", api_base: "${connection.url}", api_key: ${connection.key} }`
  const wildcard = entry('*')
  const models = ['berth-tiny', 'berth-tiny-embedding', 'none'].map(entry).join('') + wildcard
  await writeFile(
    join(folder, 'config.yaml'),
    `model_list:${models}\nlitellm_settings: { telemetry: false, num_retries: 0 }\n`,
  )
  const port = await getPort({ host: '127.0.0.1' })
  const child = spawn(program, ['--config', 'config.yaml', '--host', '127.0.0.1', '--port', String(port)], {
    cwd: folder,
    stdio: 'ignore',
    env: {
      PATH: `${dirname(program)}:${process.env['PATH']}`,
      HOME: folder,
      LITELLM_LOCAL_MODEL_COST_MAP: 'True',
      LITELLM_MASTER_KEY: key,
    },
  })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  stop = () => (child.kill(), ended)
  url = `http://127.0.0.1:${port}`
  await vi.waitUntil(async () => (await fetch(`${url}/health/liveliness`).catch(() => null))?.ok === true, {
    timeout: 180_000,
    interval: 500,
  })
  openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 })
})
afterAll(async () => {
  await stop?.()
  await connection?.close()
  await started?.close()
  await rm(folder, { recursive: true, force: true })
})

test('LiteLLM’s proxy passes on chats, streams, tools, schemas, vectors and responses', async () => {
  const whole = await openai.chat.completions.create({ ...asked, messages })
  expect(whole.choices[0]!.message.content).toContain('42')
  let text = ''
  for await (const { choices } of await openai.chat.completions.create({ ...asked, messages, stream: true }))
    text += choices[0]?.delta.content ?? ''
  expect(text).toBe(whole.choices[0]!.message.content)
  const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
  const called = await openai.chat.completions.create({
    ...asked,
    messages: [{ role: 'user', content: 'What is the weather in Paris?' }],
    tools: [
      {
        type: 'function',
        function: { name: 'get_weather', description: 'Get the weather of a city.', parameters },
      },
    ],
  })
  expect(called.choices[0]!.message.tool_calls).toMatchObject([{ function: { name: 'get_weather' } }])
  const schema = {
    type: 'object',
    properties: { n: { type: 'integer' } },
    required: ['n'],
    additionalProperties: false,
  }
  const number = await openai.chat.completions.create({
    ...asked,
    messages: [{ role: 'user', content: 'Give me a number.' }],
    response_format: { type: 'json_schema', json_schema: { name: 'number', schema, strict: true } },
  })
  expect(JSON.parse(number.choices[0]!.message.content!)).toEqual({ n: expect.any(Number) })
  const vectors = await openai.embeddings.create({ model: 'berth-tiny-embedding', input: 'a ship' })
  expect(vectors.data[0]!.embedding).toHaveLength(128)
  const response = await openai.responses.create({
    model: 'berth-tiny',
    input: messages[0]!.content,
    temperature: 0,
  })
  expect(response.output_text).toContain('42')
})

test('LiteLLM’s proxy translates Anthropic’s messages', async () => {
  const anthropic = new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0 })
  const { content } = await anthropic.messages.create({ ...asked, messages })
  expect(content).toMatchObject([{ type: 'text', text: expect.stringContaining('42') }])
})

test('LiteLLM’s proxy recognizes our errors, and an abort reaches the engine', async () => {
  const unknown = openai.chat.completions.create({ ...asked, model: 'none', messages })
  await expect(unknown).rejects.toMatchObject({ status: 404, message: expect.stringContaining('"none"') })
  const long = [{ role: 'user' as const, content: 'a b '.repeat(20_000) }]
  const overflow = openai.chat.completions.create({ ...asked, messages: long })
  await expect(overflow).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining('ContextWindowExceededError'),
  })
  const endless = { ...asked, max_tokens: 1000, temperature: 1, stream: true as const }
  const stream = await openai.chat.completions.create({
    ...endless,
    messages: [{ role: 'user', content: 'Count from 1 to 500.' }],
  })
  for await (const _ of stream) stream.controller.abort()
  await expect.poll(() => started.server.application.inference.inFlight.total).toBe(0)
})

test('a client of LiteLLM’s proxy repeats a request until its deployment runs', async () => {
  const { body } = await started.client.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })
  const patient = openai.withOptions({ maxRetries: 10 })
  const answer = await patient.chat.completions.create({ ...asked, model: body.id, messages })
  expect(answer.choices[0]!.message.content).toContain('42')
  await started.client.delete(`/api/v1/model-deployments/${body.id}`)
})
