import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createEngineControl } from '../../../src/adapters/model-runtime/local/engine/engine-control.ts'
import type { EngineControl } from '../../../src/adapters/model-runtime/local/engine/engine-control.ts'

const program = resolve(import.meta.dirname, '../../../../engine/src/main.ts')
const weights = resolve(import.meta.dirname, '../../../../catalog/weights/berth-tiny.gguf')
const engineKey = 'simulated-engine-key'

/** The steps of a launch, in order. */
export const stages = ['pending', 'launching', 'downloading', 'loading'] as const
export type Stage = (typeof stages)[number]

export interface LaunchPlan {
  /** Stage at which the launch stops until `proceed` */
  heldAt?: Stage | undefined
  /** Error after the last stage */
  failure?: string | undefined
}

export interface SimulatedModel {
  uid: string
  body: Record<string, any>
  status: 'CREATING' | 'READY' | 'ERROR' | 'TERMINATED'
  stage: Stage
  plan: LaunchPlan
  createdTs: number
  replicaError: string
  /** The status of its instance, if that is outdated: until 3.0 it stays CREATING when a launch fails */
  outdatedStatus?: 'CREATING'
  worker: string
  gpus: number[]
  /** URL of its engine; null if it has none */
  engineUrl: string | null
  /** Its worker died, and the supervisor has forgotten everything except the instance's status */
  isLost: boolean
}

export interface EngineProcesses {
  key: string
  /**
   * Resolves to the URL of a real engine with the downloaded file, or else the bundled model. Models with the
   * same file share one.
   */
  open(model: SimulatedModel, file: Buffer | null): Promise<string>
  close(): Promise<void>
}

/** The name of the model at every engine */
export const engineAlias = 'simulated'

/** Runs Berth's own engine. Models of Xinference's list all have the weights of the bundled model. */
export async function openEngineProcesses(): Promise<EngineProcesses> {
  const root = await mkdtemp(join(tmpdir(), 'berth-xinference-'))
  const environment = { PATH: process.env['PATH'], HOME: root, NODE_LLAMA_CPP_GPU: 'false' }
  const control: EngineControl = createEngineControl({ environment }, program)
  const engines = new Map<string, Promise<string>>()

  async function start(directory: string, type: string, file: Buffer | null): Promise<string> {
    await mkdir(directory, { recursive: true })
    const model = file === null ? weights : join(directory, 'model.gguf')
    if (file !== null) await writeFile(model, file)
    const options = { model, alias: engineAlias, type, context: 2048, parallel: 4 }
    const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)])
    const variables = { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '' }
    const rights = { account: null, prefix: [], cacheDirectory: root }
    await control.launch(directory, { args, apiKey: engineKey, variables, rights })
    for (;;) {
      const state = await control.observe(directory)
      if (state.phase === 'ready') return state.endpoint.baseUrl
      if (state.phase === 'failed' || state.phase === 'absent') throw new Error(JSON.stringify(state))
      await new Promise((done) => setTimeout(done, 50))
    }
  }

  return {
    key: engineKey,
    open({ body }, file) {
      const type = body.model_type === 'embedding' ? 'embedding' : 'chat'
      const content = file === null ? 'bundled' : createHash('sha256').update(file).digest('hex')
      const directory = join(root, `${type}-${content}`)
      const engine = engines.get(directory) ?? start(directory, type, file)
      engines.set(directory, engine)
      return engine
    },
    async close() {
      for (const [directory, engine] of engines) {
        await engine.catch(() => null)
        while (!(await control.stop(directory)));
      }
      await rm(root, { recursive: true, force: true })
    },
  }
}

/**
 * Downloads the file that a launch names, as llama.cpp does; null if it names none. A cut file does not load.
 */
export async function downloadFile(body: Record<string, any>): Promise<Buffer | null> {
  const given = (body['llamacpp_model_config'] ?? body)['model.url']
  if (given === undefined) return null
  const { username, password, href } = new URL(given)
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
  const response = await fetch(href.replace(`${username}:${password}@`, ''), { headers: { authorization } })
  const file = Buffer.from(await response.arrayBuffer())
  const name = createHash('sha256').update(file).digest('hex')
  if (href.endsWith(`/${name}.gguf`)) return file
  throw new Error('Failed to init server, please check the input params.')
}

const knownModels: Record<string, { format: string; size: number; quantizations: string[]; type: string }[]> =
  {
    'berth-tiny': [{ format: 'ggufv2', size: 0.002, quantizations: ['Q8_0'], type: 'LLM' }],
    'berth-tiny-embedding': [{ format: 'ggufv2', size: 0, quantizations: ['Q8_0'], type: 'embedding' }],
    reranker: [{ format: 'ggufv2', size: 0, quantizations: ['Q8_0'], type: 'rerank' }],
    'qwen2.5-instruct': [
      { format: 'ggufv2', size: 0.5, quantizations: ['q4_k_m', 'q8_0'], type: 'LLM' },
      { format: 'pytorch', size: 7, quantizations: ['none'], type: 'LLM' },
      { format: 'awq', size: 7, quantizations: ['Int4'], type: 'LLM' },
      { format: 'awq', size: 1.5, quantizations: ['Int4'], type: 'LLM' },
    ],
  }

const engineFormats: Record<string, string[]> = {
  'llama.cpp': ['ggufv2'],
  Transformers: ['pytorch', 'gptq', 'awq'],
  SGLang: ['pytorch', 'gptq', 'awq', 'fp8'],
  vLLM: ['pytorch', 'gptq', 'awq', 'fp8'],
}

/** The response of `/v1/engines/{type}/{name}`; null if the registry does not have the model. */
export function listEngines(type: string, name: string, broken: Record<string, string>): unknown {
  const specs = knownModels[name]?.filter((spec) => spec.type === type) ?? []
  if (specs.length === 0) return null
  const listed = Object.entries(engineFormats).map(([engine, formats]): [string, string | unknown[]] => [
    engine,
    broken[engine] ??
      specs
        .filter(({ format }) => formats.includes(format))
        .map(({ format, size, quantizations }) => ({
          model_name: name,
          model_format: format,
          ...(type === 'LLM' ? { model_size_in_billions: toSize(size) } : {}),
          quantizations,
        })),
  ])
  return Object.fromEntries(listed.filter(([, answer]) => answer.length > 0))
}

/** Whether the registry has the spec of a launch, with Xinference's comparison of sizes. */
export function knowsSpec(body: Record<string, any>): boolean {
  const { model_name, model_format, model_size_in_billions: size, quantization } = body
  return (knownModels[model_name] ?? []).some(
    (spec) =>
      (model_format == null || spec.format === model_format) &&
      (size == null || matchesSize(spec.size, size)) &&
      (quantization == null ||
        spec.quantizations.some((each) => each.toLowerCase() === String(quantization).toLowerCase())),
  )
}

function toSize(size: number): number | string {
  return Number.isInteger(size) ? size : String(size).replace('.', '_')
}

/** Xinference truncates numbers before it compares them. Text matches with `_` as the decimal point. */
function matchesSize(size: number, given: unknown): boolean {
  if (typeof given === 'number') return Math.trunc(given) === size
  return typeof given === 'string' && given.replace('_', '.') === String(size)
}
