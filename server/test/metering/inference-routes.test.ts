import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { registerProven } from '../support/organizations.ts'
import { deploy } from '../support/deployments.ts'
import { listOperations } from '../support/operations.ts'
import { writeRerankerCatalog } from '../support/random-reranker.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

/** Instances are free, so that only tokens are spent. */
const prices = `prices:
${['gpu_instance_seconds', 'inference_input_tokens', 'inference_output_tokens']
  .map(
    (meter) => `
  - meter: ${meter}
    display_name: ${meter}
    unit_amount: "${meter === 'gpu_instance_seconds' ? '0' : '0.001'}"
    currency: usd
    valid_from: 2000-01-01T00:00:00Z`,
  )
  .join('\n')}
`

const ranking = { query: 'a ship', documents: ['a harbor'] }
const chat = { messages: [{ role: 'user', content: 'Hello' }], max_tokens: 3 }

/**
 * A request of each inference route; null if it only counts tokens, which costs nothing. A new route needs
 * one here.
 */
const requests: Record<string, { model: string; body: object } | null> = {
  '/tokenize': null,
  '/v1/chat/completions': { model: 'berth-tiny', body: chat },
  '/v1/completions': { model: 'berth-tiny', body: { prompt: 'Hello', max_tokens: 3 } },
  '/v1/embeddings': { model: 'berth-tiny-embedding', body: { input: 'Hello' } },
  '/v1/messages': { model: 'berth-tiny', body: chat },
  '/v1/messages/count_tokens': null,
  '/v1/rerank': { model: 'random-reranker', body: ranking },
  '/v2/rerank': { model: 'random-reranker', body: ranking },
  '/rerank': { model: 'random-reranker', body: ranking },
  '/v1/responses': { model: 'berth-tiny', body: { input: 'Hello', max_output_tokens: 3 } },
}

/** One has the bundled models, the other one a reranking model */
let servers: { server: TestServer; models: string[] }[]
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inference-routes-'))
  const path = join(folder, 'prices.yaml')
  await writeFile(path, prices)
  const reranker = { CATALOG_FILE: await writeRerankerCatalog(folder) }
  servers = await Promise.all([
    startWith(['berth-tiny', 'berth-tiny-embedding'], { PRICES_FILE: path }),
    startWith(['random-reranker'], { PRICES_FILE: path, ...reranker }),
  ])
})
afterAll(async () => {
  for (const { server } of servers) await server.close()
  await rm(folder, { recursive: true, force: true })
})

async function startWith(models: string[], settings: Record<string, string>) {
  return { server: await startTestServer({ settings }), models }
}

test('every inference route of the route table has a request here', async () => {
  const owner = await registerProven(servers[0]!.server)
  const document = (await owner.get('/openapi.json')).body
  const routes = listOperations(document).filter(
    ({ method, description }) => method === 'POST' && description.tags.includes('Inference'),
  )
  expect(routes.map(({ path }) => path).toSorted()).toEqual(Object.keys(requests).toSorted())
})

test.each([0, 1])('every inference route counts against a budget: server %i', async (index) => {
  const { server, models } = servers[index]!
  const owner = await registerProven(server)
  const terms = { scope: 'organization', monthly_limit: '100', at_limit: 'block' }
  expect((await owner.post('/v1/billing/budgets', terms)).status).toBe(200)
  const readSpent = async () => Number((await owner.get('/v1/billing/budgets')).body[0].spent)
  const ids = new Map<string, string>()
  for (const model of models) ids.set(model, (await deploy(owner, model)).id)
  for (const [path, request] of Object.entries(requests)) {
    const model = ids.get(request?.model ?? '')
    if (!request || model === undefined) continue
    const before = await readSpent()
    expect((await owner.post(path, { ...request.body, model })).status, path).toBe(200)
    await expect.poll(readSpent, { message: path }).toBeGreaterThan(before)
  }
})
