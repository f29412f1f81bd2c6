import { execFile, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { constants } from 'node:fs'
import { open, readlink, realpath, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { getHeapStatistics } from 'node:v8'
import { findShortage } from '../../../../base/local-shortage.ts'
import { hasErrorCode, readJson, readKernelFile, unlessGone } from '../files.ts'
import { readArguments, readStatus, searchProcesses } from '../linux-processes.ts'
import { engineAccount } from './containment.ts'
import type { EngineRights } from './containment.ts'
import { pickEnvironment } from './engine-environment.ts'
import { engineFiles } from './engine-record.ts'

const run = promisify(execFile)
const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants

/** The parameters for starting an engine process. */
export interface EngineLaunch {
  program: string
  stateDirectory: string
  nonce: string
  args: readonly string[]
  apiKey: string
  /** The server's environment. The engine inherits only some variables. */
  environment: Record<string, string | undefined>
  /** Further variables of the engine */
  variables: Record<string, string>
  logPath: string
  rights: EngineRights
}

/** A running engine process. */
export interface EngineProcess {
  pid: number
  nonce: string | null
}

/** So often, at this distance, a process may show no arguments. */
const mostEmptyReads = 50
const emptyReadPauseMs = 20
/** Marks the processes that an engine starts, because their command lines don't name its folder. */
const folderVariable = 'BERTH_STATE_DIR'

/** More than the largest requests that the gateway lets through at once need */
const maxHeapMebibytes = 2048

/**
 * Keeps V8's heap close to what is in use, as the memory estimate assumes: by default it grows by 60 MB under
 * load. The limit is what a chat template can take before the engine ends.
 */
function heapLimits(): string[] {
  const limit = Math.min(maxHeapMebibytes, Math.floor(getHeapStatistics().heap_size_limit / 2 ** 20))
  return ['--heap-growing-percent=10', '--max-semi-space-size=2', `--max-old-space-size=${limit}`]
}

/** Starts an engine as a detached process that outlives the server. Its output goes only to its log. */
export async function spawnEngine(launch: EngineLaunch): Promise<ChildProcess> {
  const { account, prefix, cacheDirectory } = launch.rights
  // Not through a link, which an earlier engine may have left.
  const log = await open(launch.logPath, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600)
  try {
    const [program, ...args] = [
      ...prefix,
      process.execPath,
      ...heapLimits(),
      launch.program,
      '--state-dir',
      launch.stateDirectory,
      '--nonce',
      launch.nonce,
      ...launch.args,
    ]
    const child = spawn(program!, args, {
      cwd: launch.stateDirectory,
      detached: true,
      // Through `prefix` if there is one, because Node drops the groups of the GPUs.
      ...(prefix.length === 0 ? account : null),
      env: {
        ...pickEnvironment(launch.environment),
        // The server's home and its temporary folder may be closed to the account.
        ...(account === null ? {} : { HOME: join(cacheDirectory, 'home'), TMPDIR: undefined }),
        ...launch.variables,
        [folderVariable]: launch.stateDirectory,
        BERTH_ENGINE_KEY: launch.apiKey,
      },
      stdio: ['ignore', log.fd, log.fd],
    })
    child.unref()
    await confirmSpawn(child)
    // If memory runs out, the kernel should kill an engine, which can be restarted, rather than the database.
    if (process.platform === 'linux' && child.pid !== undefined) {
      await writeFile(`/proc/${child.pid}/oom_score_adj`, '500').catch(() => {})
    }
    return child
  } finally {
    await log.close()
  }
}

/** Throws if this host lacks what a process needs. `observe` reports another failure as an exit. */
async function confirmSpawn(child: ChildProcess): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  child.on('error', (error) => (findShortage(error) === null ? resolve() : reject(error)))
  child.once('spawn', resolve)
  await promise
}

/** True if a live process has this id and nonce. The id alone may have been reused by another process. */
export async function isEngineAlive(pid: number, nonce: string): Promise<boolean> {
  if (!Number.isSafeInteger(pid) || pid <= 1) return false
  if (process.platform !== 'linux') {
    return (await listCommands(['-p', String(pid)])).some((command) => matchNonce(command.args, nonce))
  }
  for (let tries = 0; ; tries += 1) {
    const args = await readArguments(pid)
    if (args === null || (await hasExited(pid))) return false
    // The kernel shows no arguments while a process replaces its program.
    if (args.join('') !== '' || tries === mostEmptyReads) return matchNonce(args, nonce)
    await sleep(emptyReadPauseMs)
  }
}

/** On Linux, also the processes that an engine has started. Reads files of each process of the host. */
export async function findEngines(stateDirectory: string): Promise<EngineProcess[]> {
  const commands =
    process.platform === 'linux' ? await listLinuxCommands(stateDirectory) : await listCommands(['-ax'])
  return commands
    .filter(({ args, folder }) => (optionValue(args, '--state-dir') ?? folder) === stateDirectory)
    .map(({ pid, args }) => ({ pid, nonce: optionValue(args, '--nonce') }))
}

/** The state folder of the engine that a process belongs to, of these; null for none. On Linux only. */
export async function findOwner(pid: number, stateDirectories: readonly string[]): Promise<string | null> {
  const args = process.platform === 'linux' ? await readArguments(pid) : null
  if (args === null) return null
  const folder = optionValue(args, '--state-dir') ?? (await readFolder(pid))
  if (folder !== null) return stateDirectories.includes(folder) ? folder : null
  for (const directory of stateDirectories) {
    if (await (await openSession(directory))(pid)) return directory
  }
  return null
}

/** True until the process has exited. */
export async function isRunning(pid: number): Promise<boolean> {
  return process.platform === 'linux'
    ? !(await hasExited(pid))
    : (await listCommands(['-p', String(pid)])).length > 0
}

/** Sends SIGTERM to an engine, or SIGKILL to its process group. Does nothing if it has already exited. */
export function signalEngine(pid: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  for (const target of signal === 'SIGKILL' ? [-pid, pid] : [pid]) {
    try {
      process.kill(target, signal)
    } catch (error) {
      if (!hasErrorCode(error, 'ESRCH')) throw error
    }
  }
}

interface Command {
  pid: number
  args: string[]
  /** The state folder of the engine that started the process; null if unknown */
  folder: string | null
}

async function listLinuxCommands(stateDirectory: string): Promise<Command[]> {
  const isInSession = await openSession(stateDirectory)
  return searchProcesses(async (pid) => {
    const args = await readArguments(pid)
    if (args === null) return []
    const folder = (await readFolder(pid)) ?? ((await isInSession(pid)) ? stateDirectory : null)
    const isEngine = folder !== null || args.includes('--state-dir')
    return isEngine && !(await hasExited(pid)) ? [{ pid, args, folder }] : []
  })
}

/** Finds the last engine's session: vLLM's processes lose their environment and may outlive their parents. */
async function openSession(stateDirectory: string): Promise<(pid: number) => Promise<boolean>> {
  const leader = (await readJson(engineFiles(stateDirectory).engine))?.['pid']
  if (typeof leader !== 'number') return () => Promise.resolve(false)
  const folder = await unlessGone(realpath(stateDirectory), null)
  return async (pid) => {
    const [, , , session] = await readStatus(pid)
    if (Number(session) !== leader) return false
    // The kernel may have given the leader's id to another program since. In many containers, root may not
    // read this of another account, and no program has that of engines but engines.
    const working = await unlessGone(readlink(`/proc/${pid}/cwd`), null)
    return working === null ? folder !== null && (await isEngineOwned(pid)) : working === folder
  }
}

async function isEngineOwned(pid: number): Promise<boolean> {
  return (await unlessGone(stat(`/proc/${pid}`), null))?.uid === engineAccount.uid
}

async function readFolder(pid: number): Promise<string | null> {
  const environment = await readKernelFile(`/proc/${pid}/environ`)
  const variable = environment.split('\0').find((each) => each.startsWith(`${folderVariable}=`))
  return variable?.slice(folderVariable.length + 1) ?? null
}

/** True if a process has exited, reaped or not. */
async function hasExited(pid: number): Promise<boolean> {
  const [state = ''] = await readStatus(pid)
  return ['', 'Z', 'X'].includes(state)
}

async function listCommands(selection: string[]): Promise<Command[]> {
  try {
    const { stdout } = await run('ps', [...selection, '-ww', '-o', 'pid=,stat=,command='], {
      maxBuffer: 2 ** 24,
    })
    return stdout.split('\n').flatMap((line) => {
      const [, pid, state, command] = /^\s*(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? []
      return command === undefined || state?.startsWith('Z') === true
        ? []
        : [{ pid: Number(pid), args: splitCommand(command), folder: null }]
    })
  } catch (error) {
    // ps exits with 1 when no process matches.
    if (error instanceof Error && 'code' in error && error.code === 1) return []
    throw error
  }
}

/** Splits the output of ps, which joins arguments with spaces: a value extends to the next option. */
function splitCommand(command: string): string[] {
  return command.split(/ (?=--[a-z])|(?<=--[a-z-]+) /)
}

function matchNonce(args: string[], nonce: string): boolean {
  return optionValue(args, '--nonce') === nonce
}

function optionValue(args: string[], option: string): string | null {
  const index = args.indexOf(option)
  return index === -1 ? null : (args[index + 1] ?? null)
}
