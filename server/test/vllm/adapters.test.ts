import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { waitForStatus } from '../support/deployments.ts'
import { makePeftAdapter } from '../support/hub/adapter-repositories.ts'
import type { TestServer } from '../support/server.ts'
import { describeModel, patience, startVllmServer } from './vllm-server.ts'

const deployments = '/api/v1/model-deployments'
const makeRepository = (seed: number) => ({
  commit: String(seed % 10).repeat(40),
  files: makePeftAdapter({ base: 'berth/tiny', rank: 8, hiddenSize: 128, layers: 5, seed }),
})

let server: TestServer
let client: Client
beforeAll(async () => {
  const repositories = { 'acme/One-LoRA': makeRepository(1), 'acme/Two-LoRA': makeRepository(2) }
  server = await startVllmServer([describeModel('tiny', '')], repositories)
  client = await registerClient(server.url)
})
afterAll(() => server?.close())

test('two LoRAs of one base answer differently on a real vLLM, and the base as before', async () => {
  const created = await client.post(deployments, { model_name: 'tiny' })
  expect(created.status, JSON.stringify(created.body)).toBe(201)
  const { id } = created.body
  const ids: string[] = []
  for (const huggingface of ['acme/One-LoRA', 'acme/Two-LoRA']) {
    const added = await client.post('/api/v1/deployable-models', { huggingface })
    expect(added.status, JSON.stringify(added.body)).toBe(201)
    expect(added.body.base_model).toBe('tiny')
    ids.push(added.body.id)
  }
  // Before the first start, so that one engine starts with both
  expect((await client.patch(`${deployments}/${id}`, { adapters: ids })).status).toBe(200)
  await waitForStatus(client, id, 'running', patience)
  await vi.waitFor(
    async () => {
      const { adapters } = (await client.get(`${deployments}/${id}`)).body
      expect(adapters).toMatchObject([{ ready: true }, { ready: true }])
    },
    { timeout: patience, interval: 500 },
  )
  const ask = async (model: string) => {
    const messages = [{ role: 'user', content: 'What is 27 + 15?' }]
    const body = { model, messages, temperature: 0, max_tokens: 12 }
    const answer = await client.post('/v1/chat/completions', body)
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    return answer.body.choices[0].message.content as string
  }
  const names = ['tiny', 'one-lora', 'two-lora'] as const
  const answers: string[] = []
  for (const name of names) answers.push(await ask(name))
  expect(answers[0]).toMatch(/42/)
  expect(new Set(answers).size).toBe(3)
  const together = await Promise.all([...names, ...names].map(ask))
  expect(together, 'in one batch').toEqual([...answers, ...answers])
  expect(await ask('tiny:two-lora')).toBe(answers[2])
}, 1_200_000)
