// Measures deployments that sleep, on the embedded engine: how long a request that wakes one takes to its
// first token, beside an engine that is started by hand; what a wake leaves in memory; and ten models that
// share a machine with room for two.
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { streamAnswer } from '../bench/engine/client.ts'
import { startEmbedded } from '../bench/engine/engines.ts'
import { prepareRandomModel, shapes } from '../bench/engine/random-model.ts'
import { createRandom } from '../server/test/chaos/load.ts'
import { measureMemory, path, percentile, printRow, startMeasuredServer } from './measured-server.ts'
import type { Deployment, MeasuredServer } from './measured-server.ts'
import { runProgram } from './run-program.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    /** How long ten models are called */
    seconds: { type: 'string', default: '600' },
    /** Mean seconds between two requests to any of them */
    every: { type: 'string', default: '6' },
    only: { type: 'string' },
  },
})
const root = resolve(import.meta.dirname, '..')
const tiny = join(root, 'catalog/weights/berth-tiny.gguf')
/** Memory for all engines */
const memory = { alone: 8 * 2 ** 30, shared: 640 * 2 ** 20 }

const prompt = [{ role: 'user', content: 'Hello' }] as const

/** Milliseconds from a request to the first byte of text. */
async function chat({ url, cookie }: MeasuredServer, model: string): Promise<number> {
  const began = performance.now()
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { cookie, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: prompt, max_tokens: 4, stream: true }),
  })
  if (!response.ok) throw new Error(`${model}: ${response.status} ${await response.text()}`)
  let first = 0
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    if (first === 0 && chunk.includes('"choices"')) first = performance.now() - began
    if (chunk.includes('"error"')) throw new Error(`${model}: ${chunk}`)
  }
  return first
}

/** Milliseconds from the start of an engine's process to its first token. */
async function startByHand(
  model: string,
  { context_tokens, parallel_sequences }: Deployment,
): Promise<number> {
  const launch = {
    model,
    type: 'chat',
    contextTokens: context_tokens,
    parallel: parallel_sequences,
    threads: 2,
  } as const
  const engine = await startEmbedded(launch)
  const { first } = await streamAnswer(engine, prompt, {
    max_tokens: 4,
    ignore_eos: false,
  })
  await engine.stop()
  return engine.startMs + first
}

async function measureWakes(server: MeasuredServer, name: string, file: string): Promise<void> {
  const { id } = await server.call<Deployment>('POST', path, { model_name: name })
  const deployment = await server.waitForStatus(id, 'running')
  const [wakes, starts, memory] = [[] as number[], [] as number[], [] as number[]]
  for (let round = 0; round < Number(values.rounds); round += 1) {
    await server.call('POST', `${path}/${id}/sleep`)
    await server.waitForStatus(id, 'sleeping')
    memory.push(measureMemory(server.findEngines()))
    starts.push(await startByHand(file, deployment))
    wakes.push(await chat(server, id))
  }
  const awake = measureMemory(server.findEngines())
  await server.call('DELETE', `${path}/${id}`)
  await server.waitForStatus(id, 'terminated')
  print([
    name,
    `${percentile(starts, 0.5)} ms`,
    `${percentile(wakes, 0.5)} ms`,
    (Number(percentile(wakes, 0.5)) / Number(percentile(starts, 0.5))).toFixed(2),
    `${awake.toFixed(0)} MiB`,
    `${Math.max(...memory).toFixed(0)} MiB`,
  ])
}

/** Ten deployments, of which two fit, with Poisson arrivals; the k-th is called in proportion to 1/k. */
async function measureSharing(server: MeasuredServer): Promise<void> {
  const ids: string[] = []
  while (ids.length < 10) {
    const { id } = await server.call<Deployment>('POST', path, { model_name: 'berth-tiny' })
    await server.call('PATCH', `${path}/${id}`, { yields: true })
    await server.waitForStatus(id, 'running')
    await server.call('POST', `${path}/${id}/sleep`)
    await server.waitForStatus(id, 'sleeping')
    ids.push(id)
  }
  const readHeld = async () => {
    const usage = await Promise.all(
      ids.map((id) => server.call<{ instance_seconds: number }>('GET', `${path}/${id}/usage`)),
    )
    return usage.reduce((sum, { instance_seconds: seconds }) => sum + seconds, 0)
  }
  const heldBefore = await readHeld()
  const weights = ids.map((_, index) => 1 / (index + 1))
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const random = createRandom(1)
  const began = performance.now()
  const times: Promise<number>[] = []
  let most = 0
  while (performance.now() - began < Number(values.seconds) * 1000) {
    let left = random() * total
    const index = weights.findIndex((weight) => (left -= weight) <= 0)
    times.push(chat(server, ids[index]!))
    await delay(-Math.log(1 - random()) * Number(values.every) * 1000)
    most = Math.max(most, server.findEngines().length)
  }
  const first = await Promise.all(times)
  const seconds = (performance.now() - began) / 1000
  const held = (await readHeld()) - heldBefore
  print([
    '10 models',
    `${first.length} requests`,
    `${percentile(first, 0.5)} ms`,
    `${percentile(first, 0.95)} ms`,
    `${(held / (10 * seconds)).toFixed(2)} of 10 engines`,
    `${most} at a time`,
  ])
  for (const id of ids) await server.call('DELETE', `${path}/${id}`)
  for (const id of ids) await server.waitForStatus(id, 'terminated')
}

const print = (cells: readonly string[]) => printRow(cells, 20)

await runProgram(async (cleanup) => {
  if (values.only !== 'sharing') {
    await using stack = new AsyncDisposableStack()
    const server = await startMeasuredServer({ model: shapes.half, engines: 1, memory: memory.alone }, stack)
    print(['model', 'start by hand', 'wake', 'ratio', 'memory awake', 'memory asleep'])
    await measureWakes(server, 'berth-tiny', tiny)
    await measureWakes(server, shapes.half.name, await prepareRandomModel(tiny, shapes.half))
  }
  if (values.only !== 'wakes') {
    print(['', '', 'first token', '95 %', 'held', 'engines'])
    await measureSharing(await startMeasuredServer({ engines: 2, memory: memory.shared }, cleanup))
  }
  return true
})
