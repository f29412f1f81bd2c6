import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deriveEngineKey } from '../../src/features/deployments/engine-spec.ts'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { deploy } from '../support/deployments.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const aborts = Number(process.env['TEST_ABORTS'] ?? 48)
const atOnce = 6

let server: TestServer
let client: Client
let id: string
beforeAll(async () => {
  server = await startTestServer()
  client = await registerClient(server.url)
  ;({ id } = await deploy(client))
})
afterAll(() => server?.close())

/** The tokens that the engine processed, by its own count. */
async function readEngine() {
  const { engine_url: url } = await server.application.db
    .selectFrom('deployments')
    .select('engine_url')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  const authorization = `Bearer ${deriveEngineKey(server.application.secretKey, id)}`
  const metrics = await (await fetch(`${url}/metrics`, { headers: { authorization } })).text()
  const read = (name: string) =>
    Number(new RegExp(`^berth_engine_${name}_total (\\d+)$`, 'm').exec(metrics)![1])
  return { input: read('prompt_tokens'), output: read('completion_tokens') }
}

async function readBill() {
  const { body } = await client.get(`/api/v1/model-deployments/${id}/usage`)
  return { requests: body.requests, input: body.input_tokens, output: body.output_tokens }
}

/** Sends a request and leaves: after some pieces of the stream, or after some milliseconds. */
async function abortOne(random: () => number): Promise<void> {
  const stream = random() < 0.6
  const pieces = stream ? Math.floor(random() * 12) : 0
  const content = 'a harbor at night '.repeat(1 + Math.floor(random() * 40))
  const leaving = new AbortController()
  const body = JSON.stringify({ model: id, messages: [{ role: 'user', content }], stream, max_tokens: 200 })
  const headers = { 'content-type': 'application/json', cookie: client.cookie() }
  const timer = pieces > 0 ? null : delay(random() * 60).then(() => leaving.abort())
  try {
    const init = { method: 'POST', headers, body, signal: leaving.signal }
    const response = await fetch(`${server.url}/v1/chat/completions`, init)
    expect(response.status).toBe(200)
    let seen = 0
    for await (const _piece of response.body!) {
      seen += 1
      if (timer === null && seen >= pieces) leaving.abort()
    }
  } catch (error) {
    if (!leaving.signal.aborted) throw error
  }
  await timer
}

/** Deterministic numbers from 0 to 1. */
function createRandom(seed: number): () => number {
  let state = seed
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647
}

test(
  'random aborts of streams and whole answers are billed as the engine counted them',
  { timeout: 60_000 + aborts * 1_000 },
  async () => {
    const random = createRandom(Date.now() % 1_000_000)
    const before = await readEngine()
    for (let count = 0; count < aborts; count += atOnce) {
      await Promise.all(Array.from({ length: Math.min(atOnce, aborts - count) }, () => abortOne(random)))
    }
    // Every request that the engine has seen ends, and the gateway asks for its count.
    await expect
      .poll(
        async () => {
          const [engine, bill] = [await readEngine(), await readBill()]
          return {
            input: engine.input - before.input - bill.input,
            output: engine.output - before.output - bill.output,
          }
        },
        { timeout: 30_000, interval: 100 },
      )
      .toEqual({ input: 0, output: 0 })
    const bill = await readBill()
    expect(bill.input).toBeGreaterThan(0)
    expect(bill.output).toBeGreaterThan(0)
    expect(bill.requests).toBeLessThanOrEqual(aborts)
  },
)
