import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Why an engine could not start; the same words as a deployment's failure codes. */
export type FailureCode = 'out_of_memory' | 'launch_rejected' | 'engine_crashed'

/** What engine.json says, for the server that started the engine or for one that starts later. */
export interface EngineState {
  nonce: string
  pid: number
  /** ISO 8601. */
  started_at: string
  phase: 'loading' | 'ready' | 'failed'
  /** On 127.0.0.1; null until the engine listens. */
  port: number | null
  error: { code: FailureCode; message: string } | null
}

/**
 * True while launch.json in the folder names this launch. A file that can't be read for a reason other than its
 * absence (too many open files, say) is not taken as a dismissal.
 */
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

/** Keeps engine.json: each call merges its changes into the state and writes the whole of it. */
export type StateWriter = (changes: Partial<Pick<EngineState, 'phase' | 'port' | 'error'>>) => void

/**
 * Writes engine.json with a rename, so that a reader never sees half a file. The writes are synchronous, so that they
 * can't overtake each other, and none happens once the launch is no longer wanted, so that an engine that was replaced
 * can't overwrite its successor's state.
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
