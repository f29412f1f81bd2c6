import { execFileSync, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createWriteStream } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import getPort from 'get-port'

const weights = resolve(import.meta.dirname, '../../../../catalog/weights')

/**
 * A supervisor and workers of the Xinference in the virtual environment `TEST_XINFERENCE`, each in a process
 * of its own.
 */
export interface XinferenceCluster {
  url: string
  folder: string
  startSupervisor(): Promise<void>
  killSupervisor(): Promise<void>
  /** Starts a worker at a loopback address and waits until the supervisor lists it. */
  startWorker(ip?: string): Promise<void>
  /** Kills a worker and the processes of its models. */
  killWorker(ip?: string): Promise<void>
  /** Reads the secret for the first sign-up, which the supervisor logs; null before 4.0 */
  readSetupToken(): Promise<string | null>
  register(type: 'LLM' | 'embedding' | 'rerank', model: Record<string, unknown>): Promise<void>
  close(): Promise<void>
}

export async function openCluster(environment: Record<string, string> = {}): Promise<XinferenceCluster> {
  const programs = join(process.env['TEST_XINFERENCE'] ?? '', 'bin')
  const folder = await mkdtemp(join(tmpdir(), 'berth-xinference-'))
  await copyWeights(folder)
  await writeFile(join(folder, 'weights/broken.gguf'), 'GGUF, but nothing else')
  const port = await getPort({ host: '127.0.0.1' })
  const supervisorPort = await getPort({ host: '127.0.0.1' })
  const url = `http://127.0.0.1:${port}`
  const processes = new Map<string, ChildProcess>()
  const log = createWriteStream(join(folder, 'xinference.log'), { flags: 'a' })

  function start(name: string, program: string, args: string[]): void {
    const child = spawn(join(programs, program), args, {
      cwd: folder,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env['PATH'],
        HOME: folder,
        XINFERENCE_HOME: folder,
        XINFERENCE_AUTH_ADVANCED: '0',
        HF_HUB_OFFLINE: '1',
        ...environment,
      },
    })
    child.stdout?.pipe(log, { end: false })
    child.stderr?.pipe(log, { end: false })
    processes.set(name, child)
  }

  async function kill(name: string): Promise<void> {
    const child = processes.get(name)
    processes.delete(name)
    if (child?.pid === undefined || child.exitCode !== null) return
    const ended = once(child, 'exit')
    killTree(child.pid)
    await ended
  }

  async function listWorkers(): Promise<string> {
    const answer = await fetch(`${url}/status`).catch(() => null)
    const { workers = {} } = answer === null ? {} : ((await answer.json()) as { workers?: object })
    return Object.keys(workers).join(' ')
  }

  return {
    url,
    folder,
    async startSupervisor() {
      const ports = ['--port', String(port), '--supervisor-port', String(supervisorPort)]
      start('supervisor', 'xinference-supervisor', ['-H', '127.0.0.1', ...ports])
      await waitUntil('the supervisor', async () => (await fetch(`${url}/status`).catch(() => null)) !== null)
    },
    killSupervisor: () => kill('supervisor'),
    async startWorker(ip = '127.0.0.1') {
      start(ip, 'xinference-worker', ['-e', url, '-H', ip])
      await waitUntil(`the worker ${ip}`, async () => (await listWorkers()).includes(`${ip}:`))
    },
    killWorker: (ip = '127.0.0.1') => kill(ip),
    async readSetupToken() {
      const text = await readFile(join(folder, 'xinference.log'), 'utf8')
      return /Setup token: (\S+)/.exec(text)?.[1] ?? null
    },
    async register(type, model) {
      const response = await fetch(`${url}/v1/model_registrations/${type}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: JSON.stringify(model), persist: true }),
      })
      if (!response.ok) throw new Error(await response.text())
    },
    async close() {
      for (const name of processes.keys()) await kill(name)
      log.end()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Copies the bundled weights to `weights` in a folder, where the registered models have them. */
export async function copyWeights(folder: string): Promise<void> {
  await mkdir(join(folder, 'weights'))
  for (const name of ['berth-tiny.gguf', 'berth-tiny-embedding.gguf']) {
    await copyFile(join(weights, name), join(folder, 'weights', name))
  }
}

/** Kills a process that leads its group, and all that it has started. */
export function killTree(pid: number): void {
  for (const each of [-pid, ...listTree(pid)]) killQuietly(each)
}

/**
 * A process and those that it started. Since 4.0 some have their own session, so no signal to the group
 * reaches them.
 */
function listTree(pid: number): number[] {
  const lines = execFileSync('ps', ['-eo', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n')
  const processes = lines.map((line) => line.trim().split(/\s+/).map(Number))
  const tree = [pid]
  for (const parent of tree) tree.push(...processes.flatMap(([id = 0, by]) => (by === parent ? [id] : [])))
  return tree
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended already.
  }
}

/** Imports of Xinference take a minute on a busy machine. */
async function waitUntil(what: string, check: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 600; attempt += 1) {
    if (await check()) return
    await sleep(500)
  }
  throw new Error(`${what} did not start within 5 minutes`)
}

/** A chat model in Xinference's format for registrations. */
export function describeChatModel(folder: string, name = 'berth-tiny', file = 'berth-tiny.gguf') {
  return {
    version: 2,
    context_length: 2048,
    model_name: name,
    model_lang: ['en'],
    model_ability: ['chat'],
    model_family: name,
    model_specs: [
      {
        model_format: 'ggufv2',
        model_size_in_billions: '0_002',
        quantization: 'Q8_0',
        model_file_name_template: file,
        model_uri: `file://${folder}/weights/${file}`,
      },
    ],
    chat_template: '{% for message in messages %}{{ message.content }}{% endfor %}',
    stop_token_ids: [],
    stop: [],
  }
}

/** An embedding model in Xinference's format for registrations. */
export function describeEmbeddingModel(folder: string) {
  return {
    version: 2,
    model_name: 'berth-tiny-embedding',
    dimensions: 128,
    max_tokens: 512,
    language: ['en'],
    model_specs: [
      {
        model_format: 'ggufv2',
        quantization: 'Q8_0',
        model_file_name_template: 'berth-tiny-embedding.gguf',
        model_uri: `file://${folder}/weights`,
      },
    ],
  }
}

/** A reranking model in Xinference's format for registrations; its weights are `weights/reranker.gguf`. */
export function describeReranker(folder: string) {
  return {
    version: 2,
    model_name: 'random-reranker',
    max_tokens: 512,
    language: ['en'],
    type: 'normal',
    model_specs: [
      {
        model_format: 'ggufv2',
        quantization: 'Q8_0',
        model_file_name_template: 'reranker.gguf',
        model_uri: `file://${folder}/weights`,
      },
    ],
  }
}
