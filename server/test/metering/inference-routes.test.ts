import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { registerProven } from '../support/organizations.ts'
import { deploy } from '../support/deployments.ts'
import { listOperations } from '../support/operations.ts'
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

/** A request of each inference route. A new route needs one here. */
const requests: Record<string, { model: string; body: object }> = {
  '/v1/chat/completions': {
    model: 'berth-tiny',
    body: { messages: [{ role: 'user', content: 'Hello' }], max_tokens: 3 },
  },
  '/v1/embeddings': { model: 'berth-tiny-embedding', body: { input: 'Hello' } },
}

let server: TestServer
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inference-routes-'))
  const path = join(folder, 'prices.yaml')
  await writeFile(path, prices)
  server = await startTestServer({ settings: { PRICES_FILE: path } })
})
afterAll(async () => {
  await server?.close()
  await rm(folder, { recursive: true, force: true })
})

test('every inference route of the route table counts against a budget', async () => {
  const owner = await registerProven(server)
  const document = (await owner.get('/openapi.json')).body
  const routes = listOperations(document).filter(
    ({ method, description }) => method === 'POST' && description.tags.includes('Inference'),
  )
  expect(routes.map(({ path }) => path).toSorted()).toEqual(Object.keys(requests).toSorted())

  const terms = { scope: 'organization', monthly_limit: '100', at_limit: 'block' }
  expect((await owner.post('/v1/billing/budgets', terms)).status).toBe(200)
  const readSpent = async () => Number((await owner.get('/v1/billing/budgets')).body[0].spent)
  for (const { path } of routes) {
    const { model, body } = requests[path]!
    const { id } = await deploy(owner, model)
    const before = await readSpent()
    expect((await owner.post(path, { ...body, model: id })).status, path).toBe(200)
    await expect.poll(readSpent, { message: path }).toBeGreaterThan(before)
  }
})
