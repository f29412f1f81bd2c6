import { afterAll, beforeAll, expect, test } from 'vitest'
import { createRandom } from '../chaos/load.ts'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { waitForStatus } from '../support/deployments.ts'
import type { TestServer } from '../support/server.ts'
import { abortEngines, readEngine } from './abort-engines.ts'
import type { Tokens } from './abort-engines.ts'
import { abortAtRandom, writePrompt } from './random-aborts.ts'

// `npm run test:aborts` sets these.
const engine = abortEngines[process.env['TEST_ABORTS_ENGINE'] ?? 'embedded']!
const rounds = Number(process.env['TEST_ABORTS'] ?? 60)
const seed = Number(process.env['TEST_ABORTS_SEED'] ?? Math.floor(Math.random() * 2 ** 32))
const atOnce = 6
const maxChoices = 3
const patience = 600_000

const random = createRandom(seed)
let server: TestServer
let client: Client
beforeAll(async () => {
  server = await engine.start()
  client = await registerClient(server.url)
}, patience)
afterAll(() => server?.close())

async function deploy(model_name: string): Promise<string> {
  const { status, body } = await client.post('/api/v1/model-deployments', { model_name })
  expect(status, JSON.stringify(body)).toBe(201)
  await waitForStatus(client, body.id, 'running', patience)
  return body.id
}

async function readBill(id: string): Promise<Tokens> {
  const { body } = await client.get(`/api/v1/model-deployments/${id}/usage`)
  return { input: body.input_tokens, output: body.output_tokens }
}

/** Sends a share of all requests to a deployment, and returns what its engine counted beyond the bill. */
async function abortMany(id: string, share: number, compose: () => { path: string; body: object }) {
  const before = await readEngine(server, id, engine)
  const billedBefore = await readBill(id)
  const linesBefore = server.logs.length
  const counts = await abortAtRandom({
    url: server.url,
    client,
    random,
    rounds: Math.ceil(rounds * share),
    atOnce,
    compose,
  })
  let last = ''
  const read = async () => {
    const [now, bill] = [await readEngine(server, id, engine), await readBill(id)]
    return {
      busy: now.busy,
      engine: { input: now.input - before.input, output: now.output - before.output },
      bill: { input: bill.input - billedBefore.input, output: bill.output - billedBefore.output },
    }
  }
  // The engines end their requests, the gateway asks for their counts, and the journal writes them.
  await expect
    .poll(
      async () => {
        const now = await read()
        const isSettled = now.busy === 0 && JSON.stringify(now) === last
        last = JSON.stringify(now)
        return isSettled
      },
      { timeout: 60_000, interval: 1_500 },
    )
    .toBe(true)
  const { engine: counted, bill } = await read()
  const missing = { input: counted.input - bill.input, output: counted.output - bill.output }
  return { counts, counted, bill, missing, unanswered: addUnanswered(server.logs.slice(linesBefore)) }
}

/** The billed prompts of callers that left before the first token, from the lines of the access log. */
function addUnanswered(lines: readonly string[]): number {
  return lines
    .map((line) => JSON.parse(line) as { broken_by?: string; input_tokens?: number; output_tokens?: number })
    .filter((line) => line.broken_by === 'caller' && line.output_tokens === 0)
    .reduce((sum, { input_tokens = 0 }) => sum + input_tokens, 0)
}

type Result = Awaited<ReturnType<typeof abortMany>>

function report(name: string, result: Result): void {
  if (process.env['TEST_ABORTS'] !== undefined) console.log(`${name}: ${JSON.stringify(result)}`)
}

const chat = (more: () => object) => (): { path: string; body: object } => ({
  path: '/v1/chat/completions',
  body: {
    messages: [{ role: 'user', content: writePrompt(random, 60) }],
    max_tokens: 200,
    ...engine.extras,
    ...more(),
  },
})

test(
  `random aborts are billed as the engine counted them (seed ${seed})`,
  { timeout: patience * 3 },
  async () => {
    const model = await deploy(engine.chatModel)
    const streams = await abortMany(
      model,
      0.6,
      chat(() => ({ model, stream: true })),
    )
    report('streams', streams)
    const choices = await abortMany(
      model,
      0.1,
      chat(() => ({ model, stream: true, n: 2 + Math.floor(random() * (maxChoices - 1)) })),
    )
    report('streams of several choices', choices)
    const whole = await abortMany(
      model,
      0.2,
      chat(() => ({ model })),
    )
    report('whole answers', whole)
    const embedding = await deploy(engine.embeddingModel)
    const embeddings = await abortMany(embedding, 0.1, () => ({
      path: '/v1/embeddings',
      body: { model: embedding, input: Array.from({ length: 30 }, () => writePrompt(random, 60)) },
    }))
    report('embeddings', embeddings)

    for (const { missing, unanswered } of [streams, choices, whole, embeddings]) {
      // vLLM's totals leave out the prompt of a request without a first token, which /tokenize counts.
      expect(missing.input).toBeGreaterThanOrEqual(engine.tokenizes ? -unanswered : 0)
      expect(missing.output).toBeGreaterThanOrEqual(0)
    }
    if (engine.isExact) {
      for (const { missing } of [streams, choices, whole, embeddings]) {
        expect(missing).toEqual({ input: 0, output: 0 })
      }
    }
    // One decode step for each abort
    expect(streams.missing.output).toBeLessThanOrEqual(streams.counts.aborted)
  },
)
