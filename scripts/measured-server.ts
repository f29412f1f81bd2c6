import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { on } from 'node:events'
import { statSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import getPort from 'get-port'
import { prepareRandomModel } from '../bench/engine/random-model.ts'
import type { ModelShape } from '../bench/engine/random-model.ts'
import { findByCommandLine, readResident } from '../bench/processes.ts'
import { startFlags } from '../server/test/support/process.ts'
import { describeRandomModel } from '../server/test/support/random-models.ts'

const root = resolve(import.meta.dirname, '..')
export const path = '/api/v1/model-deployments'

export interface Deployment {
  id: string
  status: string
  context_tokens: number
  parallel_sequences: number
}

/** A server with the embedded engine in a process of its own, and a person who is signed in. */
export interface MeasuredServer {
  readonly url: string
  readonly cookie: string
  call<Body>(method: string, path: string, body?: object): Promise<Body>
  waitForStatus(id: string, status: string): Promise<Deployment>
  /** The memory of the server after a collection of its garbage */
  readMemory(): Promise<NodeJS.MemoryUsage>
  /** The processes of engines */
  findEngines(): number[]
}

interface Options {
  /** A model with random weights next to `berth-tiny` */
  model?: ModelShape
  /** How many engines share the memory for engines */
  engines: number
  /** Memory for all engines in bytes; without it, what the machine has */
  memory?: number
  settings?: Record<string, string>
}

export async function startMeasuredServer(
  { model, engines, memory, settings = {} }: Options,
  cleanup: AsyncDisposableStack,
): Promise<MeasuredServer> {
  const folder = await mkdtemp(join(tmpdir(), 'berth-wake-'))
  cleanup.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  const port = await getPort({ host: '127.0.0.1' })
  const { PATH = '', HOME = '' } = process.env
  const data = join(folder, 'data')
  const child = spawn(process.execPath, [...startFlags, ...memoryFlags, join(root, 'server/bin/berth.mjs')], {
    env: {
      PATH,
      HOME,
      PORT: String(port),
      DATA_DIR: data,
      ...(model === undefined ? {} : { CATALOG_FILE: await writeCatalog(folder, model) }),
      LOCAL_EXPECTED_ENGINES: String(engines),
      ...(memory === undefined ? {} : { LOCAL_MEMORY_LIMIT: String(memory) }),
      LOCAL_STATE_CACHE_MIB: '0',
      BILLING_TRIAL_MAX_ACTIVE: '50',
      LOG_LEVEL: 'warn',
      ...settings,
    },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const ended = new Promise<void>((done) => child.once('close', () => done()))
  cleanup.defer(async () => {
    child.kill('SIGTERM')
    await ended
  })
  const url = `http://127.0.0.1:${port}`
  let cookie = ''
  async function call<Body>(method: string, at: string, body?: object): Promise<Body> {
    const response = await fetch(url + at, {
      method,
      headers: { cookie, ...(body ? { 'content-type': 'application/json' } : {}) },
      body: body ? JSON.stringify(body) : null,
    })
    if (!response.ok) throw new Error(`${method} ${at}: ${response.status} ${await response.text()}`)
    cookie ||= response.headers.getSetCookie()[0]?.split(';')[0] ?? ''
    return (await response.json()) as Body
  }
  const waitFor = async (isDone: () => Promise<boolean>) => {
    for (let tries = 0; !(await isDone().catch(() => false)); tries += 1) {
      if (tries > 3_000 || child.exitCode !== null) throw new Error('Waited 300 s for the server.')
      await delay(100)
    }
  }
  await waitFor(async () => (await fetch(`${url}/healthz`)).ok)
  const password = 'correct horse battery'
  await call('POST', '/v1/user/register', { email: 'bench@example.com', password, organization: 'Bench' })
  return {
    url,
    cookie,
    call,
    async waitForStatus(id, status) {
      let seen: Deployment | undefined
      await waitFor(async () => (seen = await call<Deployment>('GET', `${path}/${id}`)).status === status)
      return seen!
    },
    findEngines: () => findByCommandLine(join(data, 'engines')),
    readMemory: () => readMemory(child),
  }
}

/** Flags for Node with which `readMemory` can ask a program for its memory. */
export const memoryFlags = ['--expose-gc', '--import', join(root, 'scripts/report-memory.ts')]

/** Returns the memory of a program that has a channel to this one, after a collection of its garbage. */
export async function readMemory(child: ChildProcess): Promise<NodeJS.MemoryUsage> {
  child.send('memory')
  for await (const [message] of on(child, 'message')) if ('memory' in message) return message.memory
  throw new Error('The program has ended.')
}

async function writeCatalog(folder: string, model: ModelShape): Promise<string> {
  const tiny = join(root, 'catalog/weights/berth-tiny.gguf')
  const describe = (shape: ModelShape, file: string) =>
    describeRandomModel(shape, { file, bytes: statSync(file).size })
  const models = [
    describe(model, await prepareRandomModel(tiny, model)),
    describe({ ...model, name: 'berth-tiny' }, tiny),
  ]
  const catalog = join(folder, 'catalog.yaml')
  await writeFile(catalog, `{"models": [${models.join(', ')}]}`)
  return catalog
}

/** The number that this share of the numbers does not exceed, without decimals */
export function percentile(numbers: readonly number[], share: number): string {
  const sorted = numbers.toSorted((one, other) => one - other)
  return sorted[Math.floor(share * (sorted.length - 1))]!.toFixed(0)
}

/** Prints a row of a table whose columns have this width. */
export function printRow(cells: readonly string[], width: number): void {
  const row = cells.map((cell) => cell.padEnd(width)).join('')
  process.stdout.write(`${row.trimEnd()}\n`)
}

/** Resident memory of processes in MiB */
export function measureMemory(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + readResident(pid) / 1024, 0)
}
