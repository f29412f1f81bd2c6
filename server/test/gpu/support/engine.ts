import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { onTestFinished } from 'vitest'

const program = resolve(import.meta.dirname, '../../../../engine/src/main.ts')
const nonce = '0123456789abcdef'
export const engineKey = 'a-key-for-the-gpu-test'

/** An engine that no server has started. */
export interface OwnEngine {
  /** What `engine.json` says; null before the engine has written it */
  read(): Promise<{ phase: string; port: number | null; error: unknown } | null>
  /** Resolves to the exit code and the signal. */
  exit: Promise<unknown[]>
  stop(): Promise<void>
}

/** Starts the embedded engine on the GPU as the local runtime does. The end of the test stops it. */
export async function startOwnEngine(model: string, context: number, parallel: number): Promise<OwnEngine> {
  const state = await mkdtemp(join(tmpdir(), 'berth-gpu-engine-'))
  await writeFile(join(state, 'launch.json'), JSON.stringify({ nonce }))
  const flags = {
    '--state-dir': state,
    '--nonce': nonce,
    '--model': model,
    '--alias': 'model',
    '--type': 'chat',
    '--context': context,
    '--parallel': parallel,
    '--device': 'gpu',
  }
  const engine = spawn(process.execPath, [program, ...Object.entries(flags).flat().map(String)], {
    env: { ...process.env, BERTH_ENGINE_KEY: engineKey },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const exit = once(engine, 'exit')
  const stop = async () => {
    engine.kill('SIGKILL')
    await exit
    await rm(state, { recursive: true, force: true })
  }
  onTestFinished(stop)
  return {
    read: async () => JSON.parse(await readFile(join(state, 'engine.json'), 'utf8').catch(() => 'null')),
    exit,
    stop,
  }
}
