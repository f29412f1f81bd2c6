import { randomBytes } from 'node:crypto'
import { watch } from 'node:fs'
import type { FSWatcher } from 'node:fs'
import { rm } from 'node:fs/promises'
import { basename } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findShortage } from '../../../../base/local-shortage.ts'
import type { EngineObservation } from '../../../../ports/model-runtime.ts'
import { hasErrorCode, shareFile, syncDirectory, writeJson } from '../files.ts'
import { countOutOfMemoryKills, readBootId } from '../host.ts'
import type { LocalRuntimeSettings } from '../settings.ts'
import type { EngineRights } from './containment.ts'
import { rotateLog } from './engine-log.ts'
import { findRunning, observeEngine } from './engine-observation.ts'
import type { EngineMemory } from './engine-observation.ts'
import { findEngines, isRunning, signalEngine, spawnEngine } from './engine-process.ts'
import { engineFiles, readEngineRecord } from './engine-record.ts'

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
  rights: EngineRights
}

/** Controls the engine of a state folder. Calls for one folder must not overlap, except `observe`. */
export interface EngineControl {
  launch(directory: string, start: EngineStart): Promise<void>
  /** The state of the engine; `absent` if none was launched since this host booted. */
  observe(directory: string): Promise<EngineObservation>
  /** True while the process of the last launch runs, whether or not it is ready. */
  isRunning(directory: string): Promise<boolean>
  /** Stops all engine processes of the folder. Returns within about a second; true once none is left. */
  stop(directory: string): Promise<boolean>
  /** Calls `listener` with the id of each engine of this process that has become ready or failed to start. */
  onStarted(listener: (engineId: string) => void): void
  /** Ends the calls. Engines keep running. */
  close(): void
}

const loadingTimeoutMs = 20 * 60_000
const stopTimeoutMs = 1000
const killAfterMs = 5000

type Settings = Pick<LocalRuntimeSettings, 'environment' | 'loadingTimeoutMs' | 'observedTime'>

interface ControlContext extends EngineMemory {
  settings: Settings
  /** Berth's own engine, for starts that name no program */
  program: string
  /** When a process got SIGTERM, by folder and process id */
  terminatedAt: Map<string, number>
  /** The watches of engines that start, by folder */
  starts: Map<string, { stop(): void }>
  onStarted: (engineId: string) => void
}

/** Controls the engines of this host. */
export function createEngineControl(settings: Settings, program: string): EngineControl {
  const context: ControlContext = {
    settings,
    program,
    children: new Map(),
    launching: new Set(),
    unhealthy: new Map(),
    loadingTimeoutMs: settings.loadingTimeoutMs ?? loadingTimeoutMs,
    observedTime: settings.observedTime ?? { between: (since, now) => now.getTime() - since.getTime() },
    terminatedAt: new Map(),
    starts: new Map(),
    onStarted: () => {},
  }
  return {
    launch: (directory, start) => launchEngine(context, directory, start),
    observe: (directory) => observeEngine(context, directory),
    isRunning: async (directory) => (await findRunning(context, directory)) !== null,
    stop: (directory) => stopEngine(context, directory),
    onStarted: (listener) => {
      context.onStarted = listener
    },
    close: () => context.starts.values().forEach((each) => each.stop()),
  }
}

async function launchEngine(context: ControlContext, directory: string, start: EngineStart): Promise<void> {
  const { settings, children, launching, unhealthy } = context
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
    // The server's file, which the engine reads
    if (start.rights.account !== null) await shareFile(files.launch, start.rights.account)
    const started = watchStart(directory, nonce, (engineId) => {
      context.starts.delete(directory)
      context.onStarted(engineId)
    })
    context.starts.get(directory)?.stop()
    context.starts.set(directory, started)
    const child = await spawnEngine({
      program: start.program ?? context.program,
      stateDirectory: directory,
      nonce,
      args: start.args,
      apiKey: start.apiKey,
      environment: settings.environment,
      variables: start.variables ?? {},
      logPath: files.log,
      rights: start.rights,
    })
    children.set(directory, { nonce, child })
    unhealthy.delete(directory)
  } finally {
    launching.delete(directory)
  }
}

/** Calls `onStarted` once when this launch is ready or has failed; never if files send no notifications. */
function watchStart(
  directory: string,
  nonce: string,
  onStarted: (engineId: string) => void,
): { stop(): void } {
  let isOver = false
  const stop = () => {
    isOver = true
    watcher?.close()
  }
  const look = async () => {
    const record = await readEngineRecord(directory, nonce)
    if (isOver || record === null || record.phase === 'loading') return
    stop()
    onStarted(basename(directory))
  }
  const watcher = openWatch(directory)
  watcher?.on('change', () => void look().catch(stop)).on('error', stop)
  return { stop }
}

/** null if this host allows no more watches: "the disk is full", in the words of the kernel */
function openWatch(directory: string): FSWatcher | null {
  try {
    return watch(directory, { persistent: false })
  } catch (error) {
    if (hasErrorCode(error, 'ENOSPC') || findShortage(error) !== null) return null
    throw error
  }
}

async function stopEngine(context: ControlContext, directory: string): Promise<boolean> {
  const { children, unhealthy, terminatedAt, starts } = context
  const files = engineFiles(directory)
  starts.get(directory)?.stop()
  starts.delete(directory)
  // Remove the launch record first, so that an engine that is just starting exits by itself.
  await rm(files.launch, { force: true })
  await syncDirectory(directory).catch((error: unknown) => {
    if (!hasErrorCode(error, 'ENOENT')) throw error
  })
  const deadline = performance.now() + stopTimeoutMs
  for (;;) {
    const running = await findEngines(directory)
    if (running.length === 0) break
    for (const { pid } of running) terminateProcess(context, pid, `${directory} ${pid}`)
    for (const { pid } of running) {
      while (await isRunning(pid)) {
        if (performance.now() > deadline) return false
        await sleep(50)
      }
    }
  }
  await rm(files.engine, { force: true })
  children.delete(directory)
  unhealthy.delete(directory)
  for (const key of terminatedAt.keys()) {
    if (key.startsWith(`${directory} `)) terminatedAt.delete(key)
  }
  return true
}

function terminateProcess({ terminatedAt }: ControlContext, pid: number, key: string): void {
  const since = terminatedAt.get(key)
  if (since === undefined) {
    terminatedAt.set(key, performance.now())
    signalEngine(pid, 'SIGTERM')
  } else if (performance.now() - since > killAfterMs) {
    signalEngine(pid, 'SIGKILL')
  }
}
