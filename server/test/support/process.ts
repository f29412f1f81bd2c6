import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { chmod, mkdtemp, readFile, readdir, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { isPostmaster, readPidFile } from '../../src/database/embedded/postmaster.ts'

const program = resolve(import.meta.dirname, '../../bin/berth.mjs')
const packageFile = resolve(import.meta.dirname, '../../../package.json')

/** The flags of Node with which `npm start` runs the server. */
export const startFlags = (JSON.parse(readFileSync(packageFile, 'utf8')).scripts.start as string)
  .split(' ')
  .filter((part) => part.startsWith('--'))

/**
 * The environment of Berth's programs in tests: no settings of a developer, and compiled code that all tests
 * share.
 */
export function childEnvironment(): Record<string, string> {
  const { PATH = '', HOME = '', NODE_COMPILE_CACHE = '' } = process.env
  return { PATH, HOME, NODE_COMPILE_CACHE }
}

/** A server in a separate process, as operators run it. */
export interface ServerProcess {
  child: ChildProcess
  /** Resolves to the URL when the server listens; rejects if it exits first */
  listening: Promise<string>
  /** Resolves to the exit code or the signal */
  exited: Promise<number | NodeJS.Signals>
  /** All output so far, stdout and stderr */
  output(): string
}

/** Starts a server with only these settings. `args` are extra arguments. */
export function spawnServer(settings: Record<string, string>, args: string[] = []): ServerProcess {
  const child = spawn(process.execPath, [...startFlags, program, ...args], {
    env: {
      ...childEnvironment(),
      PORT: '0',
      ...(settings['ROLE'] === 'worker' ? { METRICS_PORT: '0' } : {}),
      BILLING_TRIAL_MAX_ACTIVE: '1000',
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const { promise: listening, resolve: listens, reject } = Promise.withResolvers<string>()
  listening.catch(() => {})
  let output = ''
  let isListening = false
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
      if (isListening) return
      const address = /listening on (http:\/\/[^\s"]+)/.exec(output)?.[1]
      if (address === undefined) return
      isListening = true
      listens(address)
    })
  }
  const exited = new Promise<number | NodeJS.Signals>((resolveExit) => {
    child.once('close', (code, signal) => {
      reject(new Error(`The server exited with ${signal ?? code} before it listened:\n${output}`))
      resolveExit(signal ?? code ?? -1)
    })
  })
  return { child, listening, exited, output: () => output }
}

/** Creates a DATA_DIR. If the tests run as root, PostgreSQL's account can also enter it. */
export async function createDataDirectory(): Promise<string> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'berth-process-')))
  await chmod(directory, 0o755)
  return directory
}

/** Kills the engines and PostgreSQL of a DATA_DIR and removes it. */
export async function removeDataDirectory(directory: string): Promise<void> {
  for (const { pid } of await findEngineProcesses(directory)) signal(pid, 'SIGKILL')
  const postgres = await findPostmaster(directory)
  // SIGQUIT is an immediate shutdown that also ends its child processes.
  if (postgres !== null) signal(postgres, 'SIGQUIT')
  await waitUntil(async () => (await findPostmaster(directory)) === null, 20_000, 'PostgreSQL to end')
  await rm(directory, { recursive: true, force: true, maxRetries: 10 })
}

/** Finds the process id of the embedded PostgreSQL of a DATA_DIR; null when it is not running. */
export async function findPostmaster(dataDirectory: string): Promise<number | null> {
  const data = join(dataDirectory, 'postgres', 'cluster', 'data')
  const file = await readPidFile(data)
  return file !== undefined && (await isPostmaster(file.pid, data)) ? file.pid : null
}

/** Finds all engine processes of a DATA_DIR by the folder on their command line (Linux only). */
export async function findEngineProcesses(
  dataDirectory: string,
): Promise<{ pid: number; engineId: string }[]> {
  const root = join(dataDirectory, 'engines')
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const found = await Promise.all(
    pids.map(async (pid) => {
      // A zombie has an empty command line.
      const args = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0')
      const directory = args[args.indexOf('--state-dir') + 1] ?? ''
      if (!args.includes('--state-dir') || dirname(directory) !== root) return []
      return [{ pid: Number(pid), engineId: directory.slice(root.length + 1) }]
    }),
  )
  return found.flat()
}

/** Sends a signal. Ignores processes that have exited. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Polls until the condition is true. Throws an error that names `what` after `timeout` milliseconds. */
export async function waitUntil(
  condition: () => Promise<boolean> | boolean,
  timeout: number,
  what: string | (() => string),
): Promise<void> {
  const deadline = Date.now() + timeout
  while (!(await condition())) {
    if (Date.now() > deadline) {
      throw new Error(`Waited ${timeout / 1000} s for ${typeof what === 'string' ? what : what()}`)
    }
    await delay(50)
  }
}

/** True for a process that runs; one that has ended and waits for its parent does not (Linux). */
export function isAlive(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
