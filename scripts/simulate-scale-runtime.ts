import { setTimeout as delay } from 'node:timers/promises'
import type { EngineObservation, ModelRuntime } from '../server/src/ports/model-runtime.ts'

/** Simulated network latency per call, in milliseconds. */
const callMilliseconds = 3
const longestProvisioning = 3_000
const longestStart = 4_000

/**
 * A simulated runtime: instances and engines start after a delay, 2 % of the instances are refused, and 1 % of the engines fail. The
 * deployment's id determines its fate.
 */
export function createPretendedRuntime(): ModelRuntime & { looks(): number } {
  const asked = new Map<string, number>()
  const begun = new Map<string, number>()
  let looks = 0

  /** Maps an id to a number from 0 to 1. */
  const chance = (id: string, from: number) => Number.parseInt(id.slice(from, from + 4), 16) / 0x1_0000

  function observe(id: string): EngineObservation {
    const at = begun.get(id)
    if (at === undefined) return { phase: 'absent' }
    if (Date.now() - at < chance(id, 9) * longestStart)
      return { phase: 'starting', message: 'The engine starts.' }
    if (chance(id, 4) < 0.01) {
      return {
        phase: 'failed',
        stage: 'model_launch',
        code: 'launch_rejected',
        message: 'The engine refuses.',
      }
    }
    return { phase: 'ready', endpoint: { baseUrl: 'http://127.0.0.1:9' } }
  }

  return {
    name: 'kubernetes',
    engines: [{ name: 'llama.cpp', formats: ['ggufv2'], version: null, acceptsImages: false }],
    looks: () => looks,
    async listOffers() {
      await delay(callMilliseconds)
      const offer = {
        region: 'here',
        gpuCount: 1,
        gpuModel: 'L4',
        vendor: 'nvidia',
        computeCapability: 8.9,
      } as const
      const memory = { memoryBytes: 20e9, formats: ['ggufv2', 'pytorch'] }
      return ['gpu-small', 'gpu-large'].map((instanceType) => ({ instanceType, ...offer, ...memory }))
    },
    async provision({ deploymentId: id, clusterId }) {
      await delay(callMilliseconds)
      const since = asked.get(id) ?? Date.now()
      asked.set(id, since)
      if (chance(id, 0) < 0.02) {
        return { outcome: 'refused', code: 'provider_error', message: 'The provider refuses.' }
      }
      if (Date.now() - since < chance(id, 0) * longestProvisioning) {
        return { outcome: 'pending', message: 'Waiting for a node.' }
      }
      const instance = { instanceId: `node-${id}`, clusterId: clusterId ?? 'cluster', gpuAllocationId: id }
      return { outcome: 'provisioned', instance: { ...instance, region: 'here', startedAt: new Date() } }
    },
    async ensureEngine({ deploymentId }) {
      await delay(callMilliseconds)
      if (!begun.has(deploymentId)) begun.set(deploymentId, Date.now())
      return observe(deploymentId)
    },
    async observeEngine(deploymentId) {
      looks += 1
      await delay(callMilliseconds)
      return observe(deploymentId)
    },
    async stopEngine() {
      await delay(callMilliseconds)
      return true
    },
    async release(deploymentId) {
      await delay(callMilliseconds)
      asked.delete(deploymentId)
      begun.delete(deploymentId)
      return true
    },
    listDeploymentIds: async () => [...asked.keys()],
    readLogs: async () => [],
    async *followLogs() {},
    close: async () => {},
  }
}
