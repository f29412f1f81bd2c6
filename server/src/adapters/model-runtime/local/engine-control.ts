import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import type { EngineObservation } from '../../../ports/model-runtime.ts'
import { readLog, rotateLog } from './engine-log.ts'
import { findEngines, isEngineAlive, signalEngine, spawnEngine } from './engine-process.ts'
import { engineFiles, readEngine, readLaunch, type EngineRecord, type LaunchRecord } from './engine-record.ts'
import { hasErrorCode, syncDirectory, writeJson } from './files.ts'
import { countMemoryKills, readBootId } from './host.ts'
import type { LocalRuntimeSettings } from './settings.ts'

/** Starts, watches and ends the engine of a folder; calls for one folder other than `observe` must not overlap. */
export interface EngineControl {
  launch(directory: string, args: string[], apiKey: string): Promise<void>
  /** What is seen of the engine; `absent` when none was started that this host could still run. */
  observe(directory: string): Promise<EngineObservation>
  /** Ends whatever runs for the folder; true once nothing does. Returns within about a second. */
  stop(directory: string): Promise<boolean>
}

const LOADING_DEADLINE_MS = 20 * 60_000
const HEALTH_TIMEOUT_MS = 3000
/** Failed probes in a row that make an engine unreachable, each at least this long after the one before */
const HEALTH_FAILURES = 3
const HEALTH_SPACING_MS = 2000
const STOP_PATIENCE_MS = 1000
const KILL_AFTER_MS = 5000

/** Controls the engines of this host. What it remembers is about speed and wording; the truth is in the folders. */
export function createEngineControl(settings: LocalRuntimeSettings, program: string): EngineControl {
  /** Engines that this process started, by folder: their exit codes come to it alone */
  const children = new Map<string, { nonce: string; child: ChildProcess }>()
  const launching = new Set<string>()
  const unhealthy = new Map<string, { failures: number; at: number }>()
  /** When a process was asked to end, by folder and process id */
  const asked = new Map<string, number>()

  async function launch(directory: string, args: string[], apiKey: string): Promise<void> {
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
        memory_kills: await countMemoryKills(),
      })
      const child = await spawnEngine({
        program,
        stateDirectory: directory,
        nonce,
        args,
        apiKey,
        environment: settings.environment,
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
    const record = await readLaunch(directory)
    // After a restart of the host no engine has crashed: it is to be started again.
    if (record === null || record.bootId !== (await readBootId())) return { phase: 'absent' }
    const engine = await readEngine(directory, record.nonce)
    const alive =
      engine === null
        ? (await findEngines(directory)).some((found) => found.nonce === record.nonce)
        : await isEngineAlive(engine.pid, record.nonce)
    if (!alive || engine?.phase === 'failed') return await observeEnd(directory, record)
    if (engine?.phase === 'ready') return await observeReady(directory, engine)
    return await observeLoading(directory, record)
  }

  async function observeEnd(directory: string, record: LaunchRecord): Promise<EngineObservation> {
    // Read again: an engine may have said why between the first reading and its end.
    const engine = await readEngine(directory, record.nonce)
    if (engine?.phase === 'failed') {
      const { code, message } = engine.error ?? { code: 'engine_crashed', message: 'The engine gave up.' }
      return { phase: 'failed', stage: 'model_launch', code, message }
    }
    const started = children.get(directory)
    const child = started?.nonce === record.nonce ? started.child : undefined
    // Nothing was ever started: the server ended between the two steps of a launch.
    if (engine === null && child === undefined) return { phase: 'absent' }
    const how = child === undefined ? null : await describeExit(child)
    const kills = await countMemoryKills()
    const outOfMemory =
      (how === null || how.includes('SIGKILL')) && kills !== null && kills > (record.memoryKills ?? kills)
    const what = outOfMemory ? "was killed for want of the host's memory" : `ended ${how ?? 'unexpectedly'}`
    const when = engine === null ? ' at its start' : engine.phase === 'loading' ? ' while loading' : ''
    const lastWords = await findLastError(directory, record)
    return {
      phase: 'failed',
      stage: engine === null ? 'engine_startup' : engine.phase === 'loading' ? 'model_launch' : 'runtime',
      code: outOfMemory ? 'out_of_memory' : 'engine_crashed',
      message: `The engine ${what}${when}${lastWords === null ? '.' : `; it last said: ${lastWords}`}`,
    }
  }

  async function observeLoading(directory: string, record: LaunchRecord): Promise<EngineObservation> {
    const deadline = settings.loadingDeadlineMs ?? LOADING_DEADLINE_MS
    if (Date.now() - record.launchedAt > deadline) {
      const message = `The engine was not ready ${Math.round(deadline / 60_000)} minutes after its start.`
      return { phase: 'failed', stage: 'model_launch', code: 'readiness_timeout', message }
    }
    const lines = await readLog(engineFiles(directory).log, 20)
    const said = lines.findLast(({ at, line }) => at.getTime() >= record.launchedAt && /\d %/.test(line))
    const progress = said?.line.match(/\d+ %/)?.[0]
    return {
      phase: 'starting',
      message:
        progress === undefined ? 'The engine is starting.' : `The engine is loading the model: ${progress}.`,
    }
  }

  async function observeReady(directory: string, engine: EngineRecord): Promise<EngineObservation> {
    const baseUrl = `http://127.0.0.1:${engine.port}`
    const fault = await probeHealth(baseUrl)
    if (fault === null) {
      unhealthy.delete(directory)
      return { phase: 'ready', endpoint: { baseUrl } }
    }
    const seen = unhealthy.get(directory) ?? { failures: 0, at: 0 }
    if (Date.now() - seen.at >= HEALTH_SPACING_MS) {
      seen.failures += 1
      seen.at = Date.now()
      unhealthy.set(directory, seen)
    }
    // On a busy host a living engine may answer late.
    if (seen.failures < HEALTH_FAILURES) return { phase: 'ready', endpoint: { baseUrl } }
    const message = `The engine's process runs but ${seen.failures} health checks in a row failed (${fault}).`
    return { phase: 'failed', stage: 'health_check', code: 'engine_unreachable', message }
  }

  async function stop(directory: string): Promise<boolean> {
    const files = engineFiles(directory)
    // First of all, so that an engine that is only just starting ends by itself.
    await rm(files.launch, { force: true })
    await syncDirectory(directory).catch((error: unknown) => {
      if (!hasErrorCode(error, 'ENOENT')) throw error
    })
    const deadline = Date.now() + STOP_PATIENCE_MS
    for (;;) {
      const running = await findEngines(directory)
      if (running.length === 0) break
      for (const { pid } of running) askToEnd(pid, `${directory} ${pid}`)
      if (Date.now() > deadline) return false
      await sleep(50)
    }
    await rm(files.engine, { force: true })
    children.delete(directory)
    unhealthy.delete(directory)
    for (const key of asked.keys()) {
      if (key.startsWith(`${directory} `)) asked.delete(key)
    }
    return true
  }

  function askToEnd(pid: number, key: string): void {
    const since = asked.get(key)
    if (since === undefined) {
      asked.set(key, Date.now())
      signalEngine(pid, 'SIGTERM')
    } else if (Date.now() - since > KILL_AFTER_MS) {
      signalEngine(pid, 'SIGKILL')
    }
  }

  return { launch, observe, stop }
}

/** How a child ended, as the end of a sentence. */
async function describeExit(child: ChildProcess): Promise<string> {
  if (child.pid === undefined) return 'before it began: the system could not start the process'
  // The process is seen to be gone a moment before Node tells its exit code.
  const deadline = Date.now() + 500
  while (child.exitCode === null && child.signalCode === null && Date.now() < deadline) await sleep(10)
  if (child.signalCode !== null) return `by ${child.signalCode}`
  return child.exitCode === null ? 'unexpectedly' : `with exit code ${child.exitCode}`
}

async function findLastError(directory: string, record: LaunchRecord): Promise<string | null> {
  const lines = await readLog(engineFiles(directory).log, 200)
  const line = lines.findLast(
    ({ at, line: text }) =>
      at.getTime() >= record.launchedAt - 1000 &&
      /error|fail|fatal|abort|terminat|exception|memory|cannot|could not/i.test(text),
  )
  return line?.line.slice(0, 300) ?? null
}

/** Null when the engine says that it is well, else the words for what is wrong. */
async function probeHealth(baseUrl: string): Promise<string | null> {
  try {
    const signal = AbortSignal.timeout(HEALTH_TIMEOUT_MS)
    const { statusCode, body } = await request(`${baseUrl}/health`, { signal, reset: true })
    await body.dump()
    return statusCode === 200 ? null : `HTTP ${statusCode}`
  } catch (error) {
    if (!(error instanceof Error)) return String(error)
    return error.name === 'TimeoutError'
      ? 'no answer'
      : hasErrorCode(error, 'ECONNREFUSED')
        ? 'refused'
        : error.message
  }
}
