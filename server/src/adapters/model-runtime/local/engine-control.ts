import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import type { EngineObservation } from '../../../ports/model-runtime.ts'
import { diagnoseStart } from '../engine-failures.ts'
import { readLog, rotateLog } from './engine-log.ts'
import { findEngines, isEngineAlive, signalEngine, spawnEngine } from './engine-process.ts'
import {
  engineFiles,
  readEngineRecord,
  readLaunchRecord,
  type EngineRecord,
  type LaunchRecord,
} from './engine-record.ts'
import { hasErrorCode, syncDirectory, writeJson } from './files.ts'
import { countOutOfMemoryKills, readBootId } from './host.ts'
import type { LocalRuntimeSettings } from './settings.ts'

/** How to start an engine. */
export interface EngineStart {
  /** A script for Node; default: Berth's own engine */
  program?: string
  /** The engine's name in messages; default `The engine` */
  title?: string
  args: readonly string[]
  apiKey: string
  /** Environment variables besides those inherited from the server */
  variables?: Record<string, string>
}

/** Controls the engine process of a state folder. Calls for the same folder must not overlap, except `observe`. */
export interface EngineControl {
  launch(directory: string, start: EngineStart): Promise<void>
  /** The state of the engine; `absent` if none was launched since this host booted. */
  observe(directory: string): Promise<EngineObservation>
  /** Stops all engine processes of the folder. Returns within about a second; true once none is left. */
  stop(directory: string): Promise<boolean>
}

const LOADING_TIMEOUT_MS = 20 * 60_000
const HEALTH_TIMEOUT_MS = 3000
/** Consecutive failed health checks, at least this far apart, that make an engine unreachable */
const HEALTH_FAILURES = 3
const HEALTH_SPACING_MS = 2000
const STOP_TIMEOUT_MS = 1000
const KILL_AFTER_MS = 5000

/** Controls the engines of this host. All state that must survive a restart is in the folders. */
export function createEngineControl(settings: LocalRuntimeSettings, program: string): EngineControl {
  /** Engines started by this process, by folder. Only their parent process sees their exit codes. */
  const children = new Map<string, { nonce: string; child: ChildProcess }>()
  const launching = new Set<string>()
  const unhealthy = new Map<string, { failures: number; at: number }>()
  /** When a process got SIGTERM, by folder and process id */
  const terminatedAt = new Map<string, number>()

  async function launch(directory: string, start: EngineStart): Promise<void> {
    const nonce = randomBytes(16).toString('hex')
    const files = engineFiles(directory)
    launching.add(directory)
    try {
      await rotateLog(files.log)
      await rm(files.engine, { force: true })
      await writeJson(files.launch, {
        nonce,
        launched_at: new Date().toISOString(),
        boot_id: await readBootId(),
        memory_kills: await countOutOfMemoryKills(),
        title: start.title ?? 'The engine',
      })
      const child = await spawnEngine({
        program: start.program ?? program,
        stateDirectory: directory,
        nonce,
        args: start.args,
        apiKey: start.apiKey,
        environment: settings.environment,
        variables: start.variables ?? {},
        logPath: files.log,
      })
      children.set(directory, { nonce, child })
      unhealthy.delete(directory)
    } finally {
      launching.delete(directory)
    }
  }

  async function observe(directory: string): Promise<EngineObservation> {
    if (launching.has(directory)) return { phase: 'starting', message: 'The engine process is starting.' }
    const record = await readLaunchRecord(directory)
    // After a reboot of the host the engine has not crashed. It only needs a new launch.
    if (record === null || record.bootId !== (await readBootId())) return { phase: 'absent' }
    const engine = await readEngineRecord(directory, record.nonce)
    const alive =
      engine === null
        ? (await findEngines(directory)).some((found) => found.nonce === record.nonce)
        : await isEngineAlive(engine.pid, record.nonce)
    if (!alive || engine?.phase === 'failed') return await observeExit(directory, record)
    if (engine?.phase === 'ready') return await observeReady(directory, engine)
    return await observeLoading(directory, record)
  }

  async function observeExit(directory: string, record: LaunchRecord): Promise<EngineObservation> {
    // Read the record again: the engine may have written its error just before it exited.
    const engine = await readEngineRecord(directory, record.nonce)
    if (engine?.phase === 'failed') {
      const { code, message } = engine.error ?? {
        code: 'engine_crashed',
        message: 'The engine stopped after an unknown error.',
      }
      return { phase: 'failed', stage: 'model_launch', code, message }
    }
    const started = children.get(directory)
    const child = started?.nonce === record.nonce ? started.child : undefined
    // No process was started: the server stopped in the middle of a launch.
    if (engine === null && child === undefined) return { phase: 'absent' }
    const exit = child === undefined ? null : await describeExit(child)
    const kills = await countOutOfMemoryKills()
    const isOutOfMemory =
      (exit === null || exit.includes('SIGKILL')) && kills !== null && kills > (record.memoryKills ?? kills)
    const what = isOutOfMemory
      ? 'was killed because the host ran out of memory'
      : (exit ?? 'exited unexpectedly')
    const when =
      engine === null ? ' during startup' : engine.phase === 'loading' ? ' while loading the model' : ''
    const lines = await readLaunchLines(directory, record)
    const known = engine?.phase === 'ready' || isOutOfMemory ? null : diagnoseStart(lines)
    if (known !== null) return { phase: 'failed', ...known }
    const lastError = findLastError(lines)
    return {
      phase: 'failed',
      stage: engine === null ? 'engine_startup' : engine.phase === 'loading' ? 'model_launch' : 'runtime',
      code: isOutOfMemory ? 'out_of_memory' : 'engine_crashed',
      message: `${record.title} ${what}${when}.${lastError === null ? '' : ` Engine log: ${lastError}`}`,
    }
  }

  async function observeLoading(directory: string, record: LaunchRecord): Promise<EngineObservation> {
    const timeout = settings.loadingTimeoutMs ?? LOADING_TIMEOUT_MS
    if (Date.now() - record.launchedAt > timeout) {
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

  async function observeReady(directory: string, engine: EngineRecord): Promise<EngineObservation> {
    const baseUrl = `http://127.0.0.1:${engine.port}`
    const problem = await probeHealth(baseUrl)
    if (problem === null) {
      unhealthy.delete(directory)
      return { phase: 'ready', endpoint: { baseUrl } }
    }
    const health = unhealthy.get(directory) ?? { failures: 0, at: 0 }
    if (Date.now() - health.at >= HEALTH_SPACING_MS) {
      health.failures += 1
      health.at = Date.now()
      unhealthy.set(directory, health)
    }
    // A healthy engine may answer late on a busy host.
    if (health.failures < HEALTH_FAILURES) return { phase: 'ready', endpoint: { baseUrl } }
    const message = `The engine process is running, but ${health.failures} consecutive health checks failed (${problem}).`
    return { phase: 'failed', stage: 'health_check', code: 'engine_unreachable', message }
  }

  async function stop(directory: string): Promise<boolean> {
    const files = engineFiles(directory)
    // Remove the launch record first, so that an engine that is just starting exits by itself.
    await rm(files.launch, { force: true })
    await syncDirectory(directory).catch((error: unknown) => {
      if (!hasErrorCode(error, 'ENOENT')) throw error
    })
    const deadline = Date.now() + STOP_TIMEOUT_MS
    for (;;) {
      const running = await findEngines(directory)
      if (running.length === 0) break
      for (const { pid } of running) terminateProcess(pid, `${directory} ${pid}`)
      if (Date.now() > deadline) return false
      await sleep(50)
    }
    await rm(files.engine, { force: true })
    children.delete(directory)
    unhealthy.delete(directory)
    for (const key of terminatedAt.keys()) {
      if (key.startsWith(`${directory} `)) terminatedAt.delete(key)
    }
    return true
  }

  function terminateProcess(pid: number, key: string): void {
    const since = terminatedAt.get(key)
    if (since === undefined) {
      terminatedAt.set(key, Date.now())
      signalEngine(pid, 'SIGTERM')
    } else if (Date.now() - since > KILL_AFTER_MS) {
      signalEngine(pid, 'SIGKILL')
    }
  }

  return { launch, observe, stop }
}

/** How a child process ended, as a predicate. */
async function describeExit(child: ChildProcess): Promise<string> {
  if (child.pid === undefined) return 'could not be started by the operating system'
  // The process disappears a moment before Node reports its exit code.
  const deadline = Date.now() + 500
  while (child.exitCode === null && child.signalCode === null && Date.now() < deadline) await sleep(10)
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
    const signal = AbortSignal.timeout(HEALTH_TIMEOUT_MS)
    const { statusCode, body } = await request(`${baseUrl}/health`, { signal, reset: true })
    await body.dump()
    return statusCode === 200 ? null : `HTTP ${statusCode}`
  } catch (error) {
    if (!(error instanceof Error)) return String(error)
    return error.name === 'TimeoutError'
      ? 'no response'
      : hasErrorCode(error, 'ECONNREFUSED')
        ? 'connection refused'
        : error.message
  }
}
