import { join } from 'node:path'
import type { FailureCode } from '../../../../ports/engine-failures.ts'
import { readJson } from '../files.ts'

/** The server writes it before the start. An engine exits if the file disappears or has another nonce. */
export interface LaunchRecord {
  nonce: string
  launchedAt: number
  bootId: string
  /** The kernel's count of out-of-memory kills at launch */
  memoryKills: number | null
  /** The engine's name in messages */
  title: string
}

/** Written by an engine about itself. */
export interface EngineRecord {
  pid: number
  phase: 'loading' | 'ready' | 'failed'
  port: number | null
  /** Where another thread answers health checks; null if it has none, or not yet */
  healthPort: number | null
  error: { code: FailureCode; message: string } | null
}

/** The paths of the files of one engine. */
export function engineFiles(directory: string): Record<'launch' | 'engine' | 'instance' | 'log', string> {
  return {
    launch: join(directory, 'launch.json'),
    engine: join(directory, 'engine.json'),
    instance: join(directory, 'instance.json'),
    log: join(directory, 'engine.log'),
  }
}

/** The current launch in this folder; null when no engine should run. */
export async function readLaunchRecord(directory: string): Promise<LaunchRecord | null> {
  const record = await readJson(engineFiles(directory).launch)
  const { nonce, launched_at: launchedAt, boot_id: bootId, memory_kills: memoryKills, title } = record ?? {}
  if (typeof nonce !== 'string' || typeof launchedAt !== 'string' || typeof bootId !== 'string') return null
  return {
    nonce,
    launchedAt: Date.parse(launchedAt),
    bootId,
    memoryKills: typeof memoryKills === 'number' ? memoryKills : null,
    title: typeof title === 'string' ? title : 'The engine',
  }
}

/** The latest record of this launch's engine; null if it has not written one. */
export async function readEngineRecord(directory: string, nonce: string): Promise<EngineRecord | null> {
  const record = await readJson(engineFiles(directory).engine)
  if (record === null || record['nonce'] !== nonce || typeof record['pid'] !== 'number') return null
  const { pid, phase, port, health_port: healthPort, error } = record
  if (phase !== 'loading' && phase !== 'ready' && phase !== 'failed') return null
  return { pid, phase, port: readPort(port), healthPort: readPort(healthPort), error: readError(error) }
}

const readPort = (port: unknown): number | null => (typeof port === 'number' ? port : null)

/** The failures that an engine tells apart. Every other code is a crash. */
const reportedCodes: readonly FailureCode[] = ['out_of_memory', 'launch_rejected', 'provider_error']

function readError(error: unknown): EngineRecord['error'] {
  if (typeof error !== 'object' || error === null || !('message' in error) || !('code' in error)) return null
  const code = reportedCodes.find((each) => each === error.code) ?? 'engine_crashed'
  return { code, message: String(error.message) }
}
