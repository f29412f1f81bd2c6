import { onTestFinished, vi } from 'vitest'
import { createXinferenceRuntime } from '../../src/adapters/model-runtime/xinference/runtime.ts'
import type {
  SupervisorAddress,
  XinferenceSettings,
} from '../../src/adapters/model-runtime/xinference/settings.ts'
import type { EngineObservation, EngineSpec, ModelRuntime } from '../../src/ports/model-runtime.ts'
import type { ModelVariant } from '../../src/ports/model-variant.ts'
import { startXinferenceSimulator } from './simulator/simulator.ts'
import type { SimulatorOptions, XinferenceSimulator } from './simulator/simulator.ts'
import { makeSpec, makeVariant } from '../adapters/local-runtime-support.ts'

const gibibyte = 2 ** 30
export const l4 = { name: 'NVIDIA L4', memoryBytes: 23 * gibibyte }

/** A worker with `gpus` GPUs of 23 GiB each. */
export function makeWorker(ip: string, gpus: number) {
  return { ip, gpus: Array.from({ length: gpus }, () => l4), memoryBytes: 64 * gibibyte }
}

/** A simulator without real engines, so models are ready immediately. */
export async function openSimulator(options: SimulatorOptions = {}): Promise<XinferenceSimulator> {
  const simulator = await startXinferenceSimulator({ withEngines: false, ...options })
  onTestFinished(() => simulator.close())
  return simulator
}

export async function openRuntime(
  supervisors: { url: string }[],
  { credentials = null, ...changes }: Partial<XinferenceSettings & SupervisorAddress> = {},
): Promise<ModelRuntime> {
  const runtime = await createXinferenceRuntime({
    supervisors: supervisors.map(({ url }) => ({ origin: url, credentials })),
    gpuMemoryShare: 0.9,
    instanceTypes: [],
    uploads: null,
    logger: { info() {}, warn() {} },
    ...changes,
  })
  onTestFinished(() => runtime.close())
  return runtime
}

export const tiny = makeVariant({ kind: 'file', path: 'x' }, { sizeInBillions: 0.002, quantization: 'Q8_0' })

/** A variant of a model that needs GPUs. */
export function makeGpuVariant(changes: Partial<ModelVariant> = {}): ModelVariant {
  const weights = { kind: 'huggingface', repo: 'Qwen/Qwen2.5', revision: 'main', files: [] } as const
  const facts = { modelName: 'qwen2.5-instruct', format: 'pytorch', sizeInBillions: 7, quantization: 'none' }
  return makeVariant({ ...weights, files: [] }, { ...facts, ...changes })
}

/** The launch of `tiny` on a host without GPUs. */
export const makeTinyLaunch = (spec: EngineSpec) => ({
  model_uid: spec.modelUid,
  model_name: 'berth-tiny',
  model_type: 'LLM',
  model_engine: 'llama.cpp',
  model_format: 'ggufv2',
  quantization: 'Q8_0',
  model_size_in_billions: '0_002',
  replica: 1,
  n_gpu: null,
  n_ctx: spec.contextTokens * spec.parallelSequences,
  n_parallel: spec.parallelSequences,
  model_alias: [spec.modelUid],
})

/** Provisions a deployment and returns its spec with the assigned cluster. */
export async function provision(
  runtime: ModelRuntime,
  variant: ModelVariant = tiny,
  changes: Partial<EngineSpec> = {},
): Promise<EngineSpec> {
  const spec = makeSpec(variant, { instanceType: 'xinference-cpu', ...changes })
  const result = await runtime.provision(spec)
  if (result.outcome !== 'provisioned') throw new Error(result.message)
  return { ...spec, clusterId: result.instance.clusterId }
}

/** Polls `observe`, as the reconciler does, until the engine reaches a phase. */
export async function waitForPhase<Phase extends EngineObservation['phase']>(
  observe: () => Promise<EngineObservation>,
  phase: Phase,
): Promise<Extract<EngineObservation, { phase: Phase }>> {
  return vi.waitFor(
    async () => {
      const observation = await observe()
      if (observation.phase !== phase)
        throw new Error(`expected ${phase}, got ${JSON.stringify(observation)}`)
      return observation as Extract<EngineObservation, { phase: Phase }>
    },
    { timeout: 20_000, interval: 20 },
  )
}
