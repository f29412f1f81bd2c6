import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { chmod, mkdtemp, readFile, readdir, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { isPostmaster, readPidFile } from '../../src/database/embedded/postmaster.ts'

const program = resolve(import.meta.dirname, '../../bin/berth.mjs')

/** A server as an operator runs it: a process of its own. */
export interface ServerProcess {
  child: ChildProcess
  /** Its address, once it says that it listens; rejects when it ends before */
  listening: Promise<string>
  /** Its exit code, or the signal that ended it */
  exited: Promise<number | NodeJS.Signals>
  /** All that it wrote so far, on both streams */
  output(): string
}

/** Starts a server with these settings and none of this process's; `node` is the program that runs it, `args` follow its own. */
export function spawnServer(
  settings: Record<string, string>,
  node = process.execPath,
  args: string[] = [],
): ServerProcess {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(node, [program, ...args], {
    env: { PATH, HOME, PORT: '0', BILLING_TRIAL_MAX_ACTIVE: '1000', ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const { promise: listening, resolve: listens, reject } = Promise.withResolvers<string>()
  listening.catch(() => {})
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
      const address = /listening on (http:\/\/[^\s"]+)/.exec(output)?.[1]
      if (address !== undefined) listens(address)
    })
  }
  const exited = new Promise<number | NodeJS.Signals>((resolveExit) => {
    child.once('close', (code, signal) => {
      reject(new Error(`The server ended with ${signal ?? code} before it listened:\n${output}`))
      resolveExit(signal ?? code ?? -1)
    })
  })
  return { child, listening, exited, output: () => output }
}

/** A folder for one server's DATA_DIR, where PostgreSQL's account gets in too when this runs as root. */
export async function createDataDirectory(): Promise<string> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'berth-process-')))
  await chmod(directory, 0o755)
  return directory
}

/** Ends whatever runs in a DATA_DIR, engines and PostgreSQL, and removes it. */
export async function removeDataDirectory(directory: string): Promise<void> {
  for (const { pid } of await findEngineProcesses(directory)) signal(pid, 'SIGKILL')
  const postgres = await findPostmaster(directory)
  // An immediate shutdown: its other processes end with it.
  if (postgres !== null) signal(postgres, 'SIGQUIT')
  await waitUntil(async () => (await findPostmaster(directory)) === null, 20_000, 'PostgreSQL to end')
  await rm(directory, { recursive: true, force: true, maxRetries: 10 })
}

/** The process id of the embedded PostgreSQL of a DATA_DIR; null when none runs. */
export async function findPostmaster(dataDirectory: string): Promise<number | null> {
  const data = join(dataDirectory, 'postgres', 'cluster', 'data')
  const file = await readPidFile(data)
  return file !== undefined && (await isPostmaster(file.pid, data)) ? file.pid : null
}

/** Every process that was started as an engine of a DATA_DIR, by the folder on its command line (Linux). */
export async function findEngineProcesses(
  dataDirectory: string,
): Promise<{ pid: number; deploymentId: string }[]> {
  const root = join(dataDirectory, 'engines')
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const found = await Promise.all(
    pids.map(async (pid) => {
      // Empty for a zombie.
      const args = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0')
      const directory = args[args.indexOf('--state-dir') + 1] ?? ''
      if (!args.includes('--state-dir') || dirname(directory) !== root) return []
      return [{ pid: Number(pid), deploymentId: directory.slice(root.length + 1) }]
    }),
  )
  return found.flat()
}

/** Sends a signal; a process that is gone is no error. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Polls until the condition holds; throws after `timeout` milliseconds, naming what was waited for. */
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
