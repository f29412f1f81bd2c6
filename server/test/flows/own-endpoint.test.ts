// A runtime that Berth doesn't know, in front of a real engine that somebody else started, passes the whole
// story.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startEngine } from '../../../engine/test/support/engine.ts'
import type { TestEngine } from '../../../engine/test/support/engine.ts'
import { withWarmUp } from '../../src/adapters/model-runtime/warm-up.ts'
import { mainProtocols } from '../../src/features/inference/protocols/protocols.ts'
import { examine } from '../../src/features/operators/doctor.ts'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { waitForStatus } from '../support/deployments.ts'
import { createEndpointRuntime } from '../support/endpoint-runtime.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const path = '/api/v1/model-deployments'
const runtime = createEndpointRuntime()
const messages = [{ role: 'user', content: 'What is 27 + 15?' }]

let server: TestServer
let client: Client
let engine: TestEngine | undefined
beforeAll(async () => {
  server = await startTestServer({ runtime: withWarmUp(runtime, mainProtocols) })
  client = await registerClient(server.url)
})
afterAll(async () => {
  await server.close()
  await engine?.stop()
})

test('deploy on an outside endpoint, chat, stream, usage, terminate', async () => {
  const planned = await client.post(`${path}/plan`, { model_name: 'berth-tiny' })
  expect(planned).toMatchObject({
    status: 200,
    body: { instance_type: 'endpoint', context_tokens: 1024, parallel_sequences: 2 },
  })

  const created = await client.post(path, { model_name: 'berth-tiny' })
  const { id, inference_model_uid: modelUid } = created.body
  await expect
    .poll(async () => (await client.get(`${path}/${id}`)).body.status_message)
    .toBe(`Waiting for an endpoint that serves ${modelUid}.`)
  engine = startEngine({ flags: { '--alias': modelUid, '--context': '1024', '--parallel': '2' } })
  runtime.attach(modelUid, { url: await engine.ready(), key: engine.key })
  expect(await waitForStatus(client, id, 'running')).toMatchObject({
    selected_instance_type: 'endpoint',
    engine: { name: 'outsider', version: '1.2.3' },
  })

  const whole = await client.post('/v1/chat/completions', { model: 'berth-tiny', messages, temperature: 0 })
  expect(whole).toMatchObject({ status: 200, body: { model: modelUid } })
  const { content } = whole.body.choices[0].message
  expect(content).toContain('42')
  const streamed = await client.post('/v1/chat/completions', {
    model: 'berth-tiny',
    messages,
    temperature: 0,
    stream: true,
  })
  const chunks = String(streamed.body)
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)))
  expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe(content)

  const { prompt_tokens: input, completion_tokens: output } = whole.body.usage
  await expect
    .poll(async () => (await client.get(`${path}/${id}/usage`)).body)
    .toMatchObject({ requests: 2, input_tokens: 2 * input, output_tokens: 2 * output })
  const findings = await examine(server.application)
  expect(findings).toContainEqual({
    subject: 'runtime',
    state: 'endpoints: holds 1 instances',
    remedy: null,
  })

  expect((await client.delete(`${path}/${id}`)).status).toBeLessThan(300)
  await waitForStatus(client, id, 'terminated')
  expect(await runtime.listEngineIds()).toEqual([])
  const health = await fetch(`${await engine.ready()}/health`)
  expect(health.status, 'the endpoint is not ours to stop').toBe(200)
})
