import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { vi } from 'vitest'
import type { EngineState } from '../../src/base/state.ts'

const program = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
const waiting = { timeout: 30_000, interval: 20 }

export const tinyModel = fileURLToPath(new URL('../../../catalog/weights/berth-tiny.gguf', import.meta.url))
export const tinyEmbeddingModel = fileURLToPath(
  new URL('../../../catalog/weights/berth-tiny-embedding.gguf', import.meta.url),
)
/** A response_format whose answer never ends by itself. */
export const endlessFormat = {
  type: 'json_schema' as const,
  json_schema: { name: 'numbers', schema: { type: 'array', items: { type: 'integer' }, minItems: 1000 } },
}
/** The model's name in answers */
export const modelAlias = 'greeter'
/** A further name that requests may use */
export const otherAlias = 'dep-test'

/** An engine process and its folder, which `stop` removes. */
export interface TestEngine {
  process: ChildProcess
  directory: string
  nonce: string
  key: string
  /** Everything printed so far */
  output: () => string
  /** The current engine.json, or null. */
  state: () => EngineState | null
  /** Resolves to the address when engine.json names a port. */
  url: () => Promise<string>
  /** Resolves to the address when the engine is ready. Rejects when the process exits first. */
  ready: () => Promise<string>
  post: (path: string, body: unknown, init?: RequestInit) => Promise<Response>
  chat: (body: Record<string, unknown>, init?: RequestInit) => Promise<Response>
  /** Resolves to the exit code. */
  ended: () => Promise<number | null>
  stop: () => Promise<void>
}

/** Starts an engine; `flags` override the default flags. */
export function startEngine({
  flags = {},
  nonce = randomBytes(16).toString('hex'),
  launchNonce = nonce,
}: { flags?: Record<string, string>; nonce?: string; launchNonce?: string | null } = {}): TestEngine {
  const directory = mkdtempSync(join(tmpdir(), 'berth-engine-'))
  const key = randomBytes(16).toString('hex')
  if (launchNonce !== null) {
    writeFileSync(join(directory, 'launch.json'), JSON.stringify({ nonce: launchNonce }))
  }
  const all = {
    '--state-dir': directory,
    '--nonce': nonce,
    '--model': tinyModel,
    '--alias': `${modelAlias},${otherAlias}`,
    '--type': 'chat',
    '--context': '2048',
    '--parallel': '4',

    '--gpu-layers': '0',
    ...flags,
  }
  const child = spawn(process.execPath, [program, ...Object.entries(all).flat()], {
    env: { ...process.env, BERTH_ENGINE_KEY: key },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += String(data)))
  const exited = once(child, 'exit').then(([code]) => code as number | null)

  const state = (): EngineState | null => {
    try {
      return JSON.parse(readFileSync(join(directory, 'engine.json'), 'utf8')) as EngineState
    } catch {
      return null
    }
  }
  const address = (phase?: EngineState['phase']): Promise<string> =>
    vi.waitFor(() => {
      const now = state()
      if (now?.port == null || (phase !== undefined && now.phase !== phase))
        throw new Error(`not yet: ${output}`)
      return `http://127.0.0.1:${now.port}`
    }, waiting)
  const engine: TestEngine = {
    process: child,
    directory,
    nonce,
    key,
    output: () => output,
    state,
    url: () => address(),
    ready: () => address('ready'),
    post: async (path, body, init = {}) =>
      fetch((await address()) + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: typeof body === 'string' ? body : JSON.stringify(body),
        ...init,
      }),
    chat: (body, init) =>
      engine.post(
        '/v1/chat/completions',
        { model: modelAlias, messages: [{ role: 'user', content: 'Hello' }], ...body },
        init,
      ),
    ended: () => exited,
    stop: async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
      await exited
      rmSync(directory, { recursive: true, force: true })
    },
  }
  return engine
}
