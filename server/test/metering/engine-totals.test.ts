import { afterAll, beforeAll, expect, test } from 'vitest'
import { createRandom } from '../chaos/load.ts'
import { createClient, registerClient } from '../support/client.ts'
import { deploy } from '../support/deployments.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'
import { abortEngines, readEngine } from './abort-engines.ts'
import type { Tokens } from './abort-engines.ts'
import { abortAtRandom, writePrompt } from './random-aborts.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server?.close())

/** Reads a counter of a deployment from `/metrics`; null without one. */
async function readMetrics(name: string, deployment: string): Promise<Tokens | null> {
  const { body } = await createClient(server.url).get<string>('/metrics')
  const read = (direction: string) => {
    const labels = `deployment="${deployment}",model="berth-tiny",direction="${direction}"`
    return body
      .split('\n')
      .find((line) => line.startsWith(`${name}{${labels}} `))
      ?.split(' ')
      .at(-1)
  }
  const [input, output] = [read('input'), read('output')]
  return input === undefined || output === undefined ? null : { input: Number(input), output: Number(output) }
}

function subtract(one: Tokens, other: Tokens): Tokens {
  return { input: one.input - other.input, output: one.output - other.output }
}

test('`/metrics` shows the difference to the engine’s own totals: billed tokens and those that the engine counted, aborts included', async () => {
  const client = await registerClient(server.url)
  const { id: model } = await deploy(client)
  const readBilled = () => readMetrics('berth_inference_billed_tokens_total', model)
  const readCounted = () => readMetrics('berth_inference_engine_tokens_total', model)
  expect([await readBilled(), await readCounted()]).toEqual([null, null])

  const engine = abortEngines['embedded']!
  const { busy: _, ...beforeAny } = await readEngine(server, model, engine)
  const random = createRandom(7)
  const compose = () => ({
    path: '/v1/chat/completions',
    body: { model, messages: [{ role: 'user', content: writePrompt(random, 40) }], stream: true },
  })
  const { aborted } = await abortAtRandom({ url: server.url, client, random, rounds: 12, atOnce: 4, compose })
  expect(aborted).toBeGreaterThan(0)

  await expect
    .poll(async () => {
      const [billed, counted] = [await readBilled(), await readCounted()]
      return billed !== null && counted !== null && subtract(subtract(counted, beforeAny), billed)
    })
    .toEqual({ input: 0, output: 0 })
  // Tokens are recorded a moment later.
  await expect
    .poll(
      async () => {
        const { body: bill } = await client.get(`/api/v1/model-deployments/${model}/usage`)
        return { input: bill.input_tokens, output: bill.output_tokens }
      },
      { timeout: 15_000 },
    )
    .toEqual(await readBilled())
  const { busy: __, ...total } = await readEngine(server, model, engine)
  expect(await readCounted()).toEqual(total)
})
