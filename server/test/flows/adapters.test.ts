import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { deploy } from '../support/deployments.ts'
import { startHubServer } from '../support/hub/hub-server.ts'
import type { HubServer } from '../support/hub/hub-server.ts'
import { makeGgufAdapter } from '../support/hub/model-files.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'
import { uploadFile } from '../support/tus.ts'

const command = process.env['LLAMA_SERVER_COMMAND']
const models = '/api/v1/deployable-models'
const deployments = '/api/v1/model-deployments'
/** The shape of the bundled model */
const tiny = { layers: 5, hiddenSize: 128 }
const patience = { timeout: 60_000, interval: 200 }

describe.skipIf(command === undefined)('two LoRAs of the bundled model on LLAMA_SERVER_COMMAND', () => {
  let hub: HubServer
  let server: TestServer
  let client: Client
  let deploymentId: string
  const ids: string[] = []
  beforeAll(async () => {
    hub = await startHubServer({
      'acme/One-LoRA-GGUF': {
        commit: '1'.repeat(40),
        files: { 'one-F32.gguf': Buffer.concat([makeGgufAdapter(tiny, 1), Buffer.alloc(64 * 1024)]) },
      },
    })
    server = await startTestServer({ settings: { LLAMA_SERVER_COMMAND: command!, HF_ENDPOINT: hub.origin } })
    client = await registerClient(server.url)
    deploymentId = (await deploy(client)).id
  }, 120_000)
  afterAll(async () => {
    await server.close()
    await hub.close()
  })

  const read = async () => (await client.get(`${deployments}/${deploymentId}`)).body

  async function ask(model: string, content = 'What is 27 + 15?'): Promise<string> {
    const body = { model, messages: [{ role: 'user', content }], max_tokens: 12, temperature: 0 }
    const answer = await client.post('/v1/chat/completions', body)
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    expect(answer.body.model).toBe('berth-tiny')
    return answer.body.choices[0].message.content
  }

  test('one comes from the Hub and one is uploaded, and the running deployment gets both', async () => {
    const imported = await client.post(models, {
      huggingface: 'acme/One-LoRA-GGUF',
      model_name: 'one',
      base_model: 'berth-tiny',
    })
    expect(imported.status, JSON.stringify(imported.body)).toBe(201)
    expect(imported.body).toMatchObject({ base_model: 'berth-tiny', model_type: 'LLM' })
    const uploadId = await uploadFile(client, makeGgufAdapter(tiny, 50), { filename: 'two-F32.gguf' })
    const added = await client.post(models, {
      upload_id: uploadId,
      model_name: 'two',
      base_model: 'berth-tiny',
    })
    expect(added.status, JSON.stringify(added.body)).toBe(201)
    ids.push(imported.body.id, added.body.id)
    const changed = await client.patch(`${deployments}/${deploymentId}`, { adapters: ids })
    expect(changed.body.adapters).toMatchObject([
      { model_name: 'one', rank: 4, ready: false },
      { model_name: 'two', rank: 4, ready: false },
    ])
    expect(await ask('berth-tiny'), 'the old instance serves meanwhile').toMatch(/42/)
    await vi.waitFor(
      async () => expect((await read()).adapters).toMatchObject([{ ready: true }, { ready: true }]),
      patience,
    )
  }, 120_000)

  test('they answer differently, the base model as before, and each the same in any order', async () => {
    const names = ['berth-tiny', 'one', 'two'] as const
    const first = new Map<string, string>()
    for (const name of names) first.set(name, await ask(name))
    expect(first.get('berth-tiny')).toMatch(/42/)
    expect(new Set(first.values()).size).toBe(3)
    // Prompts in between, so that states of other LoRAs lie in the caches of the engine
    for (const name of ['two', 'one', 'berth-tiny', 'two', 'one']) {
      await ask(name, 'Tell me a story about a fox.')
      expect(await ask(name), name).toBe(first.get(name))
    }
    const together = await Promise.all([...names, ...names].map((name) => ask(name)))
    expect(together).toEqual([...first.values(), ...first.values()])
    expect(await ask('berth-tiny:two')).toBe(first.get('two'))
    expect(await ask(`${deploymentId}:one`)).toBe(first.get('one'))
  }, 120_000)

  test('Anthropic’s messages reach the LoRA too', async () => {
    const send = async (model: string) => {
      const messages = [{ role: 'user', content: 'What is 27 + 15?' }]
      const { body } = await client.post('/v1/messages', { model, messages, max_tokens: 12, temperature: 0 })
      return body.content[0]?.text ?? ''
    }
    expect(await send('berth-tiny')).toBe(await ask('berth-tiny'))
    expect(await send('one')).toBe(await ask('one'))
  }, 60_000)

  test('tokens belong to the LoRA, and seconds to the base', async () => {
    await server.application.tokens.flush()
    const { body } = await client.get('/v1/billing/usage-summary')
    const named = body.usage_totals.filter(
      ({ meter }: { meter: string }) => meter === 'inference_output_tokens',
    )
    const models = named.map(
      ({ dimensions }: { dimensions: { model_name: string } }) => dimensions.model_name,
    )
    expect(models.toSorted()).toEqual(['berth-tiny', 'one', 'two'])
    expect(body.usage_totals.filter(({ unit }: { unit: string }) => unit === 'second')).toHaveLength(1)
  })

  test('a LoRA in use stays; a removed one is unknown at once', async () => {
    const refused = await client.delete(`${models}/${ids[0]}`)
    expect(refused.body).toMatchObject({ code: 'model_in_use', deployment_ids: [deploymentId] })
    expect((await client.patch(`${deployments}/${deploymentId}`, { adapters: [ids[1]] })).status).toBe(200)
    await vi.waitFor(async () => {
      const gone = await client.post('/v1/chat/completions', { model: 'one', messages: [] })
      expect(gone.body.error).toMatchObject({ code: 'model_not_found' })
    }, patience)
    expect((await read()).adapters).toMatchObject([{ model_name: 'two', ready: true }])
    expect(await ask('two')).not.toMatch(/42/)
    expect((await client.delete(`${models}/${ids[0]}`)).status).toBe(204)
  })
})
