import { readFile } from 'node:fs/promises'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Answer, Client } from '../support/client.ts'
import { registerClient } from '../support/client.ts'
import { deploy, waitForStatus } from '../support/deployments.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'
import { sharePort } from '../support/share-port.ts'
import type { SharedPort } from '../support/share-port.ts'
import { announceUpload, uploadFile } from '../support/tus.ts'
import { tinyModel } from '../adapters/local-runtime-support.ts'
import { startXinferenceSimulator } from './simulator/simulator.ts'
import type { XinferenceSimulator } from './simulator/simulator.ts'

const user = { username: 'berth', password: 'open sesame' }
const path = '/api/v1/model-deployments'
const messages = [{ role: 'user' as const, content: 'Hello' }]

describe.each(['2.12.0', '4.1.0'])('Xinference %s', (version) => {
  const isNewest = version === '4.1.0'
  let simulator: XinferenceSimulator
  let shared: SharedPort
  let server: TestServer
  let client: Client
  let openai: OpenAI

  beforeAll(async () => {
    simulator = await startXinferenceSimulator({ version, user })
    shared = await sharePort('127.0.0.1', () => Number(new URL(server.url).port))
    server = await startTestServer({
      settings: {
        ...(isNewest ? { ENGINE_SERVER_URL: `http://${shared.address}` } : {}),
        RUNTIME: 'xinference',
        XINFERENCE_URLS: simulator.url.replace(
          '//',
          `//${user.username}:${encodeURIComponent(user.password)}@`,
        ),
        BILLING_TRIAL_MAX_ACTIVE: '100',
      },
    })
    client = await registerClient(server.url)
    openai = new OpenAI({
      apiKey: 'unused',
      baseURL: `${server.url}/v1`,
      maxRetries: 0,
      defaultHeaders: { cookie: client.cookie() },
    })
  })

  afterAll(async () => {
    simulator.intercept = null
    await server.close()
    await shared.close()
    await simulator.close()
  })

  function chat(model: string): Promise<Answer> {
    return client.post('/v1/chat/completions', { model, messages, max_tokens: 4 })
  }

  function waitForMessage(id: string, expected: string | null): Promise<unknown> {
    return vi.waitFor(
      async () => {
        const { body } = await client.get(`${path}/${id}`)
        expect(body.status).toBe('running')
        if (expected === null) expect(body.status_message).toBeNull()
        else expect(body.status_message).toContain(expected)
      },
      { timeout: 30_000, interval: 100 },
    )
  }

  async function release(id: string): Promise<void> {
    await client.delete(`${path}/${id}`)
    await waitForStatus(client, id, 'terminated')
  }

  test('deploy, chat, stream, delete', async () => {
    const deployment = await deploy(client)
    expect(deployment).toMatchObject({
      cluster_id: expect.stringMatching(/^xinference-[0-9a-f]{8}$/),
      gpu_allocation_id: expect.stringMatching(/^host-[0-9a-f]{8}$/),
      selected_instance_type: 'xinference-cpu',
      inference_model_uid: `dep-${deployment.id}`,
    })
    const whole = await openai.chat.completions.create({ model: deployment.id, messages, max_tokens: 8 })
    expect(whole.choices[0]?.message.role).toBe('assistant')
    expect(whole.usage?.completion_tokens).toBeGreaterThan(0)
    const stream = await openai.chat.completions.create({
      model: deployment.id,
      messages,
      max_tokens: 8,
      stream: true,
      stream_options: { include_usage: true },
    })
    const chunks = await Array.fromAsync(stream)
    expect(chunks.at(-1)?.usage?.completion_tokens).toBeGreaterThan(0)
    const withoutUsage = await Array.fromAsync(
      await openai.chat.completions.create({ model: deployment.id, messages, max_tokens: 8, stream: true }),
    )
    expect(
      withoutUsage.every(({ choices }) => choices.length > 0),
      'no usage chunk without include_usage',
    ).toBe(true)
    const refused = await client.post('/v1/chat/completions', { model: deployment.id, messages: 'Hello' })
    expect(refused.status).toBe(500)
    expect(refused.body.error).toMatchObject({ type: 'server_error' })
    expect(refused.body.error.message).not.toContain('address=')
    const { body: events } = await client.get(`${path}/${deployment.id}/events`)
    const eventMessages = events.items.map(({ message }: { message: string }) => message).join('\n')
    expect(eventMessages).toContain('The model is ready for requests.')
    const { body: logs } = await client.get(`${path}/${deployment.id}/logs`)
    expect(logs.items.map(({ line }: { line: string }) => line)).toContain('INFO: Model is ready')
    await release(deployment.id)
    expect(simulator.models.get(`dep-${deployment.instances[0]!.id}`)?.status).toBe('TERMINATED')
  })

  test('embeddings in base64, which Xinference does not support', async () => {
    const deployment = await deploy(client, 'berth-tiny-embedding')
    const ask = (encoding_format: 'base64' | 'float') =>
      openai.embeddings.create({ model: deployment.id, input: 'Hello', encoding_format })
    const floats = (await ask('float')).data[0]?.embedding as number[]
    const encoded = (await ask('base64')).data[0]?.embedding as unknown as string
    const bytes = Buffer.from(encoded, 'base64')
    const decoded = floats.map((_, index) => bytes.readFloatLE(index * 4))
    expect(decoded).toEqual(floats.map(Math.fround))
    await release(deployment.id)
  })

  test.runIf(isNewest)('an uploaded file: planned, deployed, and nothing stays registered', async () => {
    const upload_id = await uploadFile(client, await readFile(tinyModel))
    const added = await client.post('/api/v1/deployable-models', { upload_id, model_name: 'mine' })
    expect(added.status).toBe(201)
    const { body: planned } = await client.post(`${path}/plan`, { model_name: 'mine' })
    expect(planned, JSON.stringify(planned)).toMatchObject({ feasible: true })
    const deployment = await deploy(client, 'mine')
    const answer = await client.post('/v1/chat/completions', {
      model: deployment.id,
      messages: [{ role: 'user', content: 'What is 27 + 15?' }],
      temperature: 0,
      max_tokens: 32,
    })
    expect(answer.body.choices[0].message.content).toContain('42')
    await release(deployment.id)
    expect([...simulator.registered.keys()]).toEqual([])
  })

  test.runIf(!isNewest)('without ENGINE_SERVER_URL, an upload is refused at its start', async () => {
    const { status, body } = await announceUpload(client, 1000)
    expect([status, body.code]).toEqual([422, 'uploads_not_supported'])
  })

  test('chat continues after the token expires or the supervisor forgets it', async () => {
    const deployment = await deploy(client)
    expect((await chat(deployment.id)).status).toBe(200)
    simulator.tokens.expire()
    expect((await chat(deployment.id)).status).toBe(200)
    simulator.tokens.reset()
    expect((await chat(deployment.id)).status).toBe(200)
    await release(deployment.id)
  })

  test.runIf(isNewest)(
    'an unreachable supervisor: the deployment stays running, reports it, and recovers',
    async () => {
      const deployment = await deploy(client)
      await simulator.stopListening()
      await waitForMessage(deployment.id, 'Xinference is unreachable')
      expect((await chat(deployment.id)).status).toBe(502)
      await simulator.startListening()
      await waitForMessage(deployment.id, null)
      await vi.waitFor(async () => expect((await chat(deployment.id)).status).toBe(200), 60_000)
      expect((await client.get(`${path}/${deployment.id}`)).body.failure_reason).toBeNull()
      await release(deployment.id)
    },
  )

  test.runIf(isNewest)('a supervisor restarts: the model is launched again', async () => {
    const deployment = await deploy(client)
    const launches = () => simulator.calls.filter((call) => call === 'POST /v1/models').length
    const before = launches()
    await simulator.restart()
    const refused = await chat(deployment.id)
    expect(refused.status).toBe(503)
    expect(refused.body.error.code).toBe('deployment_not_ready')
    expect(refused.headers.get('retry-after')).toBe('5')
    await vi.waitFor(() => expect(launches()).toBe(before + 1), 60_000)
    await vi.waitFor(async () => expect((await chat(deployment.id)).status).toBe(200), 60_000)
    await waitForMessage(deployment.id, null)
    await release(deployment.id)
  })

  test('a failed launch: reports stage, code and reason', async () => {
    simulator.plan = { failure: 'CUDA out of memory. Tried to allocate 2.00 GiB' }
    const { body } = await client.post(path, { model_name: 'berth-tiny' })
    const failed = await waitForStatus(client, body.id, 'failed')
    simulator.plan = {}
    expect(failed.failure_stage).toBe('model_launch')
    expect(failed.failure_reason).toBe(
      'out_of_memory: Xinference could not run the model: CUDA out of memory. Tried to allocate 2.00 GiB.',
    )
    await release(body.id)
  })

  test.runIf(isNewest)('deleted during the download', async () => {
    simulator.plan = { heldAt: 'downloading' }
    const { body } = await client.post(path, { model_name: 'berth-tiny' })
    await vi.waitFor(async () => {
      const { body: deployment } = await client.get(`${path}/${body.id}`)
      expect(deployment.status_message).toContain('Xinference is downloading the model')
    }, 60_000)
    simulator.plan = {}
    await release(body.id)
    expect(simulator.models.get(`dep-${body.instances[0].id}`)?.status).toBe('ERROR')
  })
})
