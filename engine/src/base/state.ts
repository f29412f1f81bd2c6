import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Why an engine could not start. The codes equal a deployment's failure codes. */
export type FailureCode = 'out_of_memory' | 'launch_rejected' | 'provider_error' | 'engine_crashed'

/** The contents of engine.json, which the server reads to find its engines again. */
export interface EngineState {
  nonce: string
  pid: number
  /** ISO 8601 */
  started_at: string
  phase: 'loading' | 'ready' | 'failed'
  /** On 127.0.0.1; null until the engine listens */
  port: number | null
  /** On 127.0.0.1: where a thread answers health checks; null until a moment after the start */
  health_port: number | null
  error: { code: FailureCode; message: string } | null
}

/** True while launch.json names this launch. Only a missing file dismisses, not other read errors. */
export function isStillWanted(stateDirectory: string, nonce: string): boolean {
  let text: string
  try {
    text = readFileSync(join(stateDirectory, 'launch.json'), 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    return code !== 'ENOENT' && code !== 'ENOTDIR'
  }
  try {
    const launch: unknown = JSON.parse(text)
    return typeof launch === 'object' && launch !== null && 'nonce' in launch && launch.nonce === nonce
  } catch {
    return false
  }
}

/** Merges changes into the state and writes engine.json. */
export type StateWriter = (
  changes: Partial<Pick<EngineState, 'phase' | 'port' | 'health_port' | 'error'>>,
) => void

/**
 * Creates a writer for engine.json. It renames complete files into place, so readers never see a part. Writes
 * are synchronous to keep their order. A dismissed engine stops writing: its successor has the file.
 */
export function createStateWriter(stateDirectory: string, nonce: string): StateWriter {
  const path = join(stateDirectory, 'engine.json')
  const draft = `${path}.${process.pid}.tmp`
  let state: EngineState = {
    nonce,
    pid: process.pid,
    started_at: new Date().toISOString(),
    phase: 'loading',
    port: null,
    health_port: null,
    error: null,
  }
  return (changes) => {
    state = { ...state, ...changes }
    if (!isStillWanted(stateDirectory, nonce)) return
    try {
      writeFileSync(draft, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600 })
      renameSync(draft, path)
    } catch (error) {
      rmSync(draft, { force: true })
      throw error
    }
  }
}
