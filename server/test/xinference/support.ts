import { onTestFinished, vi } from 'vitest'
import { createXinferenceRuntime } from '../../src/adapters/model-runtime/xinference/runtime.ts'
import type { XinferenceSettings } from '../../src/adapters/model-runtime/xinference/settings.ts'
import type {
  EngineObservation,
  EngineSpec,
  ModelRuntime,
  ModelVariant,
} from '../../src/ports/model-runtime.ts'
import { startXinferenceSimulator } from './simulator/simulator.ts'
import type { SimulatorOptions, XinferenceSimulator } from './simulator/simulator.ts'
import { makeSpec, makeVariant } from '../adapters/local-runtime-support.ts'

const gibibyte = 2 ** 30
export const l4 = { name: 'NVIDIA L4', memoryBytes: 23 * gibibyte }

/** A worker with this many GPUs of 23 GiB. */
export function makeWorker(ip: string, gpus: number) {
  return { ip, gpus: Array.from({ length: gpus }, () => l4), memoryBytes: 64 * gibibyte }
}

/** A supervisor whose models answer nothing, so that they are there at once. */
export async function openSimulator(options: SimulatorOptions = {}): Promise<XinferenceSimulator> {
  const simulator = await startXinferenceSimulator({ withEngines: false, ...options })
  onTestFinished(() => simulator.close())
  return simulator
}

export async function openRuntime(
  supervisors: { url: string }[],
  changes: Partial<XinferenceSettings> = {},
): Promise<ModelRuntime> {
  const runtime = await createXinferenceRuntime({
    supervisors: supervisors.map(({ url }) => url),
    credentials: null,
    instanceTypes: [],
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

/** A deployment that was given room, with the cluster that it was given. */
export async function provision(
  runtime: ModelRuntime,
  variant: ModelVariant = tiny,
  changes: Partial<EngineSpec> = {},
): Promise<EngineSpec> {
  const spec = makeSpec(variant, { instanceType: 'xinference-cpu', ...changes })
  const provisioning = await runtime.provision(spec)
  if (provisioning.outcome !== 'provisioned') throw new Error(provisioning.message)
  return { ...spec, clusterId: provisioning.instance.clusterId }
}

/** Looks as a reconciler does until a phase is seen. */
export async function reach<Phase extends EngineObservation['phase']>(
  look: () => Promise<EngineObservation>,
  phase: Phase,
): Promise<Extract<EngineObservation, { phase: Phase }>> {
  return vi.waitFor(
    async () => {
      const seen = await look()
      if (seen.phase !== phase) throw new Error(`seen ${JSON.stringify(seen)}`)
      return seen as Extract<EngineObservation, { phase: Phase }>
    },
    { timeout: 20_000, interval: 20 },
  )
}
