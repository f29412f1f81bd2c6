import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import getPort from 'get-port'
import { readCpuTime, readResident } from '../processes.ts'
import { cacheFolder } from './random-model.ts'

const MAIN = resolve(import.meta.dirname, '../../engine/src/main.ts')
const NONCE = '0123456789abcdef'
const KEY = 'a-key-for-the-benchmark'
const START_MS = 120_000

/** The embedded engines find each other in this folder */
const engineFolder = mkdtempSync(join(tmpdir(), 'berth-bench-engines-'))

const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
  rmSync(engineFolder, { recursive: true, force: true })
})

/** What both engines are started with. */
export interface Launch {
  model: string
  type: 'chat' | 'embedding'
  contextTokens: number
  parallel: number
  /** Engines that run at the same time. llama-server gets an equal part of the cores. */
  engines: number
}

export interface Engine {
  url: string
  key: string
  /** Milliseconds from the start of the process until it was healthy */
  startMs: number
  /** Resident memory in MiB */
  memory: () => number
  /** CPU time used so far, in seconds */
  cpu: () => number
  stop: () => Promise<void>
}

export type StartEngine = (launch: Launch) => Promise<Engine>

/** Starts the embedded engine as the local runtime does. */
export const startEmbedded: StartEngine = async (launch) => {
  const folder = mkdtempSync(join(engineFolder, 'engine-'))
  writeFileSync(join(folder, 'launch.json'), JSON.stringify({ nonce: NONCE }))
  const flags = {
    '--state-dir': folder,
    '--nonce': NONCE,
    '--model': launch.model,
    '--alias': 'model',
    '--type': launch.type,
    '--context': launch.contextTokens,
    '--parallel': launch.parallel,
    '--gpu-layers': 0,
    '--state-cache-grows': 'yes',
  }
  const command = [process.execPath, MAIN, ...Object.entries(flags).flat().map(String)]
  const readPort = (): number | null => {
    try {
      return (JSON.parse(readFileSync(join(folder, 'engine.json'), 'utf8')) as { port: number | null }).port
    } catch {
      return null
    }
  }
  return start(command, folder, readPort, {
    MALLOC_ARENA_MAX: '1',
    MALLOC_MMAP_THRESHOLD_: '131072',
    NODE_COMPILE_CACHE: join(cacheFolder, 'compile-cache'),
  })
}

/** Returns a function that starts llama-server with this command line. */
export function startLlamaServer(program: readonly string[]): StartEngine {
  return async ({ model, type, contextTokens, parallel, engines }) => {
    const folder = mkdtempSync(join(tmpdir(), 'berth-bench-llama-server-'))
    const port = await getPort({ host: '127.0.0.1' })
    const flags = {
      '--host': '127.0.0.1',
      '--port': port,
      '--model': model,
      '--alias': 'model',
      '--ctx-size': contextTokens * parallel,
      '--parallel': parallel,
      '--threads': Math.max(1, Math.floor(availableParallelism() / engines)),
      '--gpu-layers': 0,
      '--api-key': KEY,
    }
    const command = [...program, ...Object.entries(flags).flat().map(String)]
    return start(type === 'embedding' ? [...command, '--embeddings'] : command, folder, () => port)
  }
}

async function start(
  [program = '', ...args]: readonly string[],
  folder: string,
  readPort: () => number | null,
  variables: Record<string, string> = {},
): Promise<Engine> {
  const began = performance.now()
  const logFile = join(folder, 'log')
  const log = openSync(logFile, 'a')
  const child = spawn(program, args, {
    env: { ...process.env, ...variables, BERTH_ENGINE_KEY: KEY },
    stdio: ['ignore', log, log],
  })
  running.add(child)
  const exited = once(child, 'exit').then(() => running.delete(child))
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    await exited
    rmSync(folder, { recursive: true, force: true })
  }
  while (true) {
    const port = readPort()
    const url = `http://127.0.0.1:${port}`
    const healthy = port !== null && (await fetch(`${url}/health`).catch(() => null))
    if (healthy && healthy.ok) {
      const pid = child.pid!
      return {
        url,
        key: KEY,
        startMs: performance.now() - began,
        memory: () => readResident(pid) / 1024,
        cpu: () => readCpuTime([pid]),
        stop,
      }
    }
    if (child.exitCode !== null || performance.now() - began > START_MS) {
      const end = readFileSync(logFile, 'utf8').slice(-2000)
      await stop()
      throw new Error(`${program} does not become healthy.\n${end}`)
    }
    await delay(10)
  }
}
