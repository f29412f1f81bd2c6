import type { ObservedTime } from '../../../../base/observed-time.ts'
import type { ChildProcess } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import { findShortage } from '../../../../base/local-shortage.ts'
import type { EngineObservation } from '../../../../ports/model-runtime.ts'
import { diagnoseStart } from '../../engine-failures.ts'
import { hasErrorCode } from '../files.ts'
import { countOutOfMemoryKills, readBootId } from '../host.ts'
import { readLog } from './engine-log.ts'
import { findEngines, isEngineAlive } from './engine-process.ts'
import { engineFiles, readEngineRecord, readLaunchRecord } from './engine-record.ts'
import type { EngineRecord, LaunchRecord } from './engine-record.ts'

const healthTimeoutMs = 3000
/** Consecutive failed health checks, at least this far apart, that make an engine unreachable */
const healthFailures = 3
const healthSpacingMs = 2000

/** What this process knows of engines, by folder. All state that must survive a restart is in the folders. */
export interface EngineMemory {
  /** Engines started by this process. Only their parent process sees their exit codes. */
  children: Map<string, { nonce: string; child: ChildProcess }>
  /** Folders in which an engine is being launched */
  launching: Set<string>
  unhealthy: Map<string, { failures: number; at: number }>
  /** Milliseconds before loading a model counts as failed */
  loadingTimeoutMs: number
  observedTime: Pick<ObservedTime, 'between'>
}

/** The state of the engine of a folder; `absent` if none was launched since this host booted. */
export async function observeEngine(memory: EngineMemory, directory: string): Promise<EngineObservation> {
  if (memory.launching.has(directory))
    return { phase: 'starting', message: 'The engine process is starting.' }
  const record = await readCurrentLaunch(directory)
  if (record === null) return { phase: 'absent' }
  const running = await findLaunched(memory, directory, record)
  if (running === null) return await observeExit(memory, directory, record)
  if (running.engine?.phase === 'ready') return await observeReady(memory, directory, running.engine)
  return await observeLoading(memory, directory, record)
}

/** What the running process of the last launch of a folder says of itself; null if it doesn't run. */
export async function findRunning(
  memory: EngineMemory,
  directory: string,
): Promise<{ engine: EngineRecord | null } | null> {
  const record = await readCurrentLaunch(directory)
  return record === null ? null : findLaunched(memory, directory, record)
}

/** After a reboot of the host an engine has not crashed. It only needs a new launch. */
async function readCurrentLaunch(directory: string): Promise<LaunchRecord | null> {
  const record = await readLaunchRecord(directory)
  return record === null || record.bootId !== (await readBootId()) ? null : record
}

async function findLaunched(
  memory: EngineMemory,
  directory: string,
  record: LaunchRecord,
): Promise<{ engine: EngineRecord | null } | null> {
  const engine = await readEngineRecord(directory, record.nonce)
  const pid = engine?.pid ?? findChild(memory, directory, record)?.pid
  const alive =
    pid === undefined
      ? (await findEngines(directory)).some((found) => found.nonce === record.nonce)
      : await isEngineAlive(pid, record.nonce)
  return alive && engine?.phase !== 'failed' ? { engine } : null
}

/** The engine of this launch, if this process started it. */
function findChild({ children }: EngineMemory, directory: string, { nonce }: LaunchRecord) {
  const started = children.get(directory)
  return started?.nonce === nonce ? started.child : undefined
}

async function observeExit(
  memory: EngineMemory,
  directory: string,
  record: LaunchRecord,
): Promise<EngineObservation> {
  // Read the record again: the engine may have written its error just before it exited.
  const engine = await readEngineRecord(directory, record.nonce)
  if (engine?.phase === 'failed') {
    const { code, message } = engine.error ?? {
      code: 'engine_crashed',
      message: 'The engine stopped after an unknown error.',
    }
    // An engine without a usable GPU fails before it loads the model.
    const stage = code === 'provider_error' ? 'engine_startup' : 'model_launch'
    return { phase: 'failed', stage, code, message }
  }
  const child = findChild(memory, directory, record)
  // No process was started: the server stopped in the middle of a launch.
  if (engine === null && child === undefined) return { phase: 'absent' }
  const exit = child === undefined ? null : await describeExit(child)
  const lines = await readLaunchLines(directory, record)
  if (await isOutOfMemory(exit, record)) {
    const what = 'was killed because the host ran out of memory'
    return describeEnd(record, engine, lines, 'out_of_memory', what)
  }
  const known = engine?.phase === 'ready' ? null : diagnoseStart(lines)
  return known === null
    ? describeEnd(record, engine, lines, 'engine_crashed', exit ?? 'exited unexpectedly')
    : { phase: 'failed', ...known }
}

async function isOutOfMemory(exit: string | null, record: LaunchRecord): Promise<boolean> {
  const kills = await countOutOfMemoryKills()
  return (
    (exit === null || exit.includes('SIGKILL')) && kills !== null && kills > (record.memoryKills ?? kills)
  )
}

/** `what` happened to the engine, as a predicate. */
function describeEnd(
  { title }: LaunchRecord,
  engine: EngineRecord | null,
  lines: readonly string[],
  code: 'out_of_memory' | 'engine_crashed',
  what: string,
): EngineObservation {
  const [stage, when] =
    engine === null
      ? (['engine_startup', ' during startup'] as const)
      : engine.phase === 'loading'
        ? (['model_launch', ' while loading the model'] as const)
        : (['runtime', ''] as const)
  const lastError = findLastError(lines)
  const message = `${title} ${what}${when}.${lastError === null ? '' : ` Engine log: ${lastError}`}`
  return { phase: 'failed', stage, code, message }
}

async function observeLoading(
  { loadingTimeoutMs: timeout, observedTime }: EngineMemory,
  directory: string,
  record: LaunchRecord,
): Promise<EngineObservation> {
  if (observedTime.between(new Date(record.launchedAt), new Date()) > timeout) {
    const message = `${record.title} was not ready within ${Math.round(timeout / 60_000)} minutes.`
    return { phase: 'failed', stage: 'model_launch', code: 'readiness_timeout', message }
  }
  const lines = await readLog(engineFiles(directory).log, 20)
  const line = lines.findLast(({ at, line }) => at.getTime() >= record.launchedAt && /\d %/.test(line))
  const progress = line?.line.match(/\d+ %/)?.[0]
  return {
    phase: 'starting',
    message:
      progress === undefined
        ? `${record.title} is starting.`
        : `${record.title} is loading the model: ${progress}.`,
  }
}

async function observeReady(
  { unhealthy }: EngineMemory,
  directory: string,
  engine: EngineRecord,
): Promise<EngineObservation> {
  const baseUrl = `http://127.0.0.1:${engine.port}`
  // A busy engine answers late on its own port, and is not lost.
  const problem = await probeHealth(`http://127.0.0.1:${engine.healthPort ?? engine.port}`)
  if (problem === null) {
    unhealthy.delete(directory)
    return { phase: 'ready', endpoint: { baseUrl } }
  }
  const health = unhealthy.get(directory) ?? { failures: 0, at: -Infinity }
  if (performance.now() - health.at >= healthSpacingMs) {
    health.failures += 1
    health.at = performance.now()
    unhealthy.set(directory, health)
  }
  // A healthy engine may answer late on a busy host.
  if (health.failures < healthFailures) return { phase: 'ready', endpoint: { baseUrl } }
  const message = `The engine process is running, but ${health.failures} consecutive health checks failed (${problem}).`
  return { phase: 'failed', stage: 'health_check', code: 'engine_unreachable', message }
}

/** How a child process ended, as a predicate. */
async function describeExit(child: ChildProcess): Promise<string> {
  if (child.pid === undefined) return 'could not be started by the operating system'
  // The process disappears a moment before Node reports its exit code.
  const deadline = performance.now() + 500
  while (child.exitCode === null && child.signalCode === null && performance.now() < deadline) await sleep(10)
  if (child.signalCode !== null) return `was killed by ${child.signalCode}`
  return child.exitCode === null ? 'exited unexpectedly' : `exited with code ${child.exitCode}`
}

/** The lines that the current engine has logged. */
async function readLaunchLines(directory: string, record: LaunchRecord): Promise<string[]> {
  const lines = await readLog(engineFiles(directory).log, 200)
  return lines.filter(({ at }) => at.getTime() >= record.launchedAt - 1000).map(({ line }) => line)
}

function findLastError(lines: readonly string[]): string | null {
  const pattern = /error|fail|fatal|abort|terminat|exception|memory|cannot|could not/i
  return lines.findLast((line) => pattern.test(line))?.slice(0, 300) ?? null
}

/** Returns null if the engine is healthy, otherwise the problem. */
async function probeHealth(baseUrl: string): Promise<string | null> {
  try {
    const signal = AbortSignal.timeout(healthTimeoutMs)
    const { statusCode, body } = await request(`${baseUrl}/health`, { signal, reset: true })
    await body.dump()
    return statusCode === 200 ? null : `HTTP ${statusCode}`
  } catch (error) {
    if (!(error instanceof Error)) return String(error)
    // The engine was not asked.
    if (findShortage(error) !== null) throw error
    return error.name === 'TimeoutError'
      ? 'no response'
      : hasErrorCode(error, 'ECONNREFUSED')
        ? 'connection refused'
        : error.message
  }
}
