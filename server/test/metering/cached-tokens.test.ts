import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { registerClient } from '../support/client.ts'
import { deploy } from '../support/deployments.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const bundled = resolve(import.meta.dirname, '../../../catalog/prices.yaml')
const cachedPrice = `
  - meter: inference_cached_tokens
    dimensions: { model_name: berth-tiny }
    display_name: Cached input of {model_name}
    unit_amount: "0.5"
    currency: usd
    valid_from: 2000-01-01T00:00:00Z
`

let server: TestServer
let folder: string
afterEach(async () => {
  await server?.close()
  await rm(folder, { recursive: true, force: true })
})

/**
 * Sends two chats that begin alike, with the embedded engine. Returns what they used, and the bill by meter.
 */
async function billChats(prices: string) {
  folder = await mkdtemp(join(tmpdir(), 'cached-tokens-'))
  const path = join(folder, 'prices.yaml')
  await writeFile(path, prices)
  server = await startTestServer({ settings: { PRICES_FILE: path } })
  const client = await registerClient(server.url)
  const { id } = await deploy(client)
  const messages = [{ role: 'user', content: `What is 27 + 15? ${'The harbor is calm. '.repeat(8)}` }]
  let [input, cached, output] = [0, 0, 0]
  for (let count = 0; count < 2; count += 1) {
    const { body } = await client.post('/v1/chat/completions', { model: id, messages, max_tokens: 4 })
    input += body.usage.prompt_tokens
    output += body.usage.completion_tokens
    cached += body.usage.prompt_tokens_details.cached_tokens
  }
  expect(cached).toBeGreaterThan(0)
  const readTotals = async () => {
    const { body } = await client.get('/v1/billing/usage-summary')
    const totals = body.usage_totals.filter(({ unit }: { unit: string }) => unit === 'token')
    return Object.fromEntries(
      totals.map((total: any) => [
        total.meter,
        [Number(total.total_quantity), Number(total.estimated_amount)],
      ]),
    )
  }
  await expect.poll(async () => (await readTotals())['inference_output_tokens']?.[0]).toBe(output)
  return { input, cached, totals: await readTotals() }
}

test('cached tokens with a price are billed at it, and are no longer input', async () => {
  const { input, cached, totals } = await billChats((await readFile(bundled, 'utf8')) + cachedPrice)
  expect(totals).toMatchObject({
    inference_input_tokens: [input - cached, 0],
    inference_cached_tokens: [cached, cached * 0.5],
  })
})

test('without a price for cached tokens, all tokens of the prompt are input', async () => {
  const { input, totals } = await billChats(await readFile(bundled, 'utf8'))
  expect(totals['inference_input_tokens']).toEqual([input, 0])
  expect(totals).not.toHaveProperty('inference_cached_tokens')
})
