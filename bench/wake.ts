// Measures sleeping deployments on the embedded engine: time from a request to the first token, beside an
// engine that this program starts; memory of a sleeping deployment; and ten models in room for two.
import { spawn } from 'node:child_process'
import { statSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import getPort from 'get-port'
import { runProgram } from '../tools/run-program.ts'
import { streamAnswer } from './engine/client.ts'
import { startEmbedded } from './engine/engines.ts'
import { describeRandomModel, prepareRandomModel, shapes } from './engine/random-model.ts'
import type { ModelShape } from './engine/random-model.ts'
import { findByCommandLine, readResident } from './processes.ts'
import { serverCommand, signUp } from './targets/berth.ts'
import type { Call, Deployment } from './targets/berth.ts'

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
const tiny = resolve(import.meta.dirname, '../catalog/weights/berth-tiny.gguf')
const path = '/api/v1/model-deployments'
const prompt = [{ role: 'user', content: 'Hello' }] as const

interface Server {
  url: string
  cookie: string
  call: Call
  waitForStatus(id: string, status: string): Promise<Deployment>
  findEngines(): number[]
}

/** Starts a server whose engines share so much memory. */
async function startServer(
  { memory, isRandom }: { memory: number; isRandom: boolean },
  cleanup: AsyncDisposableStack,
): Promise<Server> {
  const folder = await mkdtemp(join(tmpdir(), 'berth-wake-'))
  cleanup.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  const port = await getPort({ host: '127.0.0.1' })
  const [program, ...args] = serverCommand
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(program!, args, {
    env: {
      PATH,
      HOME,
      PORT: String(port),
      DATA_DIR: join(folder, 'data'),
      ...(isRandom && { CATALOG_FILE: await writeCatalog(folder) }),
      LOCAL_MEMORY_LIMIT: `${memory}B`,
      BILLING_TRIAL_MAX_ACTIVE: '50',
      LOG_LEVEL: 'warn',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const ended = new Promise<void>((done) => child.once('close', () => done()))
  cleanup.defer(async () => {
    child.kill('SIGTERM')
    await ended
  })
  const waitFor = async (isDone: () => Promise<boolean>) => {
    for (let tries = 0; !(await isDone().catch(() => false)); tries += 1) {
      if (tries > 3_000 || child.exitCode !== null) throw new Error('Waited 300 s for the server.')
      await delay(100)
    }
  }
  const url = `http://127.0.0.1:${port}`
  await waitFor(async () => (await fetch(`${url}/healthz`)).ok)
  const { call, cookie } = await signUp(url)
  return {
    url,
    cookie,
    call,
    async waitForStatus(id, status) {
      let seen: Deployment | undefined
      await waitFor(async () => (seen = await call<Deployment>('GET', `${path}/${id}`)).status === status)
      return seen!
    },
    findEngines: () => findByCommandLine(join(folder, 'data', 'engines')),
  }
}

/** Writes a catalog with `berth-tiny` and a model of half a billion random weights. */
async function writeCatalog(folder: string): Promise<string> {
  const describe = (shape: ModelShape, file: string) =>
    describeRandomModel(shape, { file, bytes: statSync(file).size })
  const random = await prepareRandomModel(tiny, shapes.half)
  const models = [describe(shapes.half, random), describe({ ...shapes.half, name: 'berth-tiny' }, tiny)]
  const catalog = join(folder, 'catalog.yaml')
  await writeFile(catalog, `{"models": [${models.join(', ')}]}`)
  return catalog
}

/** Milliseconds from a request to the first byte of text. */
async function chat({ url, cookie }: Server, model: string): Promise<number> {
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
  { context_tokens: contextTokens, parallel_sequences: parallel }: Deployment,
): Promise<number> {
  const engine = await startEmbedded({ model, type: 'chat', contextTokens, parallel, engines: 1 })
  const { first } = await streamAnswer(engine, prompt, { max_tokens: 4 })
  await engine.stop()
  return engine.startMs + first
}

async function measureWakes(server: Server, name: string, file: string): Promise<void> {
  const { id } = await server.call<Deployment>('POST', path, { model_name: name })
  const deployment = await server.waitForStatus(id, 'running')
  const [wakes, starts, memory] = [[] as number[], [] as number[], [] as number[]]
  for (let round = 0; round < Number(values.rounds); round += 1) {
    await sleep(server, id)
    memory.push(measureMemory(server))
    starts.push(await startByHand(file, deployment))
    wakes.push(await chat(server, id))
  }
  const awake = measureMemory(server)
  await terminate(server, id)
  const [start, wake] = [percentile(starts, 0.5), percentile(wakes, 0.5)]
  print([
    name,
    `${start.toFixed(0)} ms`,
    `${wake.toFixed(0)} ms`,
    (wake / start).toFixed(2),
    `${awake.toFixed(0)} MiB`,
    `${Math.max(...memory).toFixed(0)} MiB`,
  ])
}

async function sleep(server: Server, id: string): Promise<void> {
  await server.call('POST', `${path}/${id}/sleep`)
  await server.waitForStatus(id, 'sleeping')
}

async function terminate(server: Server, id: string): Promise<void> {
  await server.call('DELETE', `${path}/${id}`)
  await server.waitForStatus(id, 'terminated')
}

/** Ten deployments on a machine with room for two. Requests are Poisson arrivals; the k-th model gets 1/k. */
async function measureSharing(server: Server): Promise<void> {
  const ids: string[] = []
  while (ids.length < 10) {
    const { id } = await server.call<Deployment>('POST', path, { model_name: 'berth-tiny' })
    await server.call('PATCH', `${path}/${id}`, { yields: true })
    await server.waitForStatus(id, 'running')
    await sleep(server, id)
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
  const began = performance.now()
  const times: Promise<number>[] = []
  let most = 0
  while (performance.now() - began < Number(values.seconds) * 1000) {
    let left = Math.random() * total
    const index = weights.findIndex((weight) => (left -= weight) <= 0)
    const time = chat(server, ids[index]!)
    // The error shows when all have ended.
    time.catch(() => {})
    times.push(time)
    await delay(-Math.log(1 - Math.random()) * Number(values.every) * 1000)
    most = Math.max(most, server.findEngines().length)
  }
  const first = await Promise.all(times)
  const seconds = (performance.now() - began) / 1000
  const held = (await readHeld()) - heldBefore
  print([
    '10 models',
    `${first.length} requests`,
    `${percentile(first, 0.5).toFixed(0)} ms`,
    `${percentile(first, 0.95).toFixed(0)} ms`,
    `${(held / (10 * seconds)).toFixed(2)} of 10 engines`,
    `${most} at a time`,
  ])
  for (const id of ids) await terminate(server, id)
}

/** The number that this share of the numbers does not exceed */
function percentile(numbers: readonly number[], share: number): number {
  return numbers.toSorted((one, other) => one - other)[Math.floor(share * (numbers.length - 1))]!
}

/** Resident memory of the engines in MiB */
function measureMemory(server: Server): number {
  return server.findEngines().reduce((sum, pid) => sum + readResident(pid) / 1024, 0)
}

function print(cells: readonly string[]): void {
  console.log(
    cells
      .map((cell) => cell.padEnd(20))
      .join('')
      .trimEnd(),
  )
}

await runProgram(async (cleanup) => {
  if (values.only !== 'sharing') {
    await using stack = new AsyncDisposableStack()
    const server = await startServer({ memory: 8 * 2 ** 30, isRandom: true }, stack)
    print(['model', 'start by hand', 'wake', 'ratio', 'memory awake', 'memory asleep'])
    await measureWakes(server, 'berth-tiny', tiny)
    await measureWakes(server, shapes.half.name, await prepareRandomModel(tiny, shapes.half))
  }
  if (values.only !== 'wakes') {
    print(['', '', 'first token', '95 %', 'held', 'engines'])
    await measureSharing(await startServer({ memory: 896 * 2 ** 20, isRandom: false }, cleanup))
  }
  return true
})
