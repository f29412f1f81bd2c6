import { setTimeout as delay } from 'node:timers/promises'
import { llamaCpp } from '../../server/src/adapters/model-runtime/engines/llama-cpp.ts'
import type {
  EngineObservation,
  EngineSpec,
  InstanceOffer,
  ModelRuntime,
  ProvisionResult,
} from '../../server/src/ports/model-runtime.ts'

/** Simulated network latency per call, in milliseconds. */
const callMilliseconds = 3
const longestProvisioning = 3_000
const longestStart = 4_000

const offer = {
  region: 'here',
  gpuCount: 1,
  gpuModel: 'L4',
  vendor: 'nvidia',
  computeCapability: 8.9,
  memoryBytes: 20e9,
  formats: ['ggufv2', 'pytorch'],
} satisfies Partial<InstanceOffer>

/**
 * A simulated runtime: instances and engines start after a delay, 2 % of the instances are refused, and 1 %
 * of the engines fail. The engine's id determines its fate.
 */
export class PretendedRuntime implements ModelRuntime {
  readonly name = 'pretended'
  readonly engines = [llamaCpp]
  readonly sharedCapacity = null
  readonly usesCatalogWeights = true
  readonly logs: ModelRuntime['logs'] = { read: async () => [], async *follow() {} }
  /** How often an engine was observed */
  looks = 0
  readonly #asked = new Map<string, number>()
  readonly #begun = new Map<string, number>()

  async listOffers(): Promise<InstanceOffer[]> {
    await delay(callMilliseconds)
    return ['gpu-small', 'gpu-large'].map((instanceType) => ({ ...offer, instanceType }))
  }

  async provision({ engineId: id, clusterId }: EngineSpec): Promise<ProvisionResult> {
    await delay(callMilliseconds)
    const since = this.#asked.get(id) ?? Date.now()
    this.#asked.set(id, since)
    if (chance(id, 0) < 0.02) {
      return { outcome: 'refused', code: 'provider_error', message: 'The provider refuses.' }
    }
    if (Date.now() - since < chance(id, 0) * longestProvisioning) {
      return { outcome: 'pending', message: 'Waiting for a node.' }
    }
    const instance = { instanceId: `node-${id}`, clusterId: clusterId ?? 'cluster', gpuAllocationId: id }
    return { outcome: 'provisioned', instance: { ...instance, region: 'here', startedAt: new Date() } }
  }

  async ensureEngine({ engineId }: EngineSpec): Promise<EngineObservation> {
    await delay(callMilliseconds)
    if (!this.#begun.has(engineId)) this.#begun.set(engineId, Date.now())
    return this.#observe(engineId)
  }

  async observeEngine(engineId: string): Promise<EngineObservation> {
    this.looks += 1
    await delay(callMilliseconds)
    return this.#observe(engineId)
  }

  async stopEngine(): Promise<boolean> {
    await delay(callMilliseconds)
    return true
  }

  async release(engineId: string): Promise<boolean> {
    await delay(callMilliseconds)
    this.#asked.delete(engineId)
    this.#begun.delete(engineId)
    return true
  }

  async listEngineIds(): Promise<string[]> {
    return [...this.#asked.keys()]
  }

  async close(): Promise<void> {}

  #observe(id: string): EngineObservation {
    const at = this.#begun.get(id)
    if (at === undefined) return { phase: 'absent' }
    if (Date.now() - at < chance(id, 9) * longestStart)
      return { phase: 'starting', message: 'The engine starts.' }
    if (chance(id, 4) >= 0.01) return { phase: 'ready', endpoint: { baseUrl: 'http://127.0.0.1:9' } }
    return {
      phase: 'failed',
      stage: 'model_launch',
      code: 'launch_rejected',
      message: 'The engine refuses.',
    }
  }
}

/** Maps an id to a number from 0 to 1. */
function chance(id: string, from: number): number {
  return Number.parseInt(id.slice(from, from + 4), 16) / 0x1_0000
}
