import { request } from 'undici'
import type { EngineObservation, ModelRuntime, ProvisionResult } from '../../../src/ports/model-runtime.ts'
import { engines } from '../../support/engines.ts'

/** The runtime of a server process, whose hardware is in another process (`hardware.ts`). */
export function openRemoteRuntime(url: string): ModelRuntime {
  async function call<Result>(method: string, argument: unknown = null): Promise<Result> {
    const { body } = await request(`${url}/hardware/${method}`, {
      method: 'POST',
      body: JSON.stringify([argument]),
    })
    return (await body.json()) as Result
  }
  return {
    name: 'remote',
    engines: [engines.embedded],
    sharedCapacity: { contextTokens: 4096, parallelSequences: 4 },
    usesCatalogWeights: true,
    logs: { read: async () => [], async *follow() {} },
    listOffers: () => call('listOffers'),
    async provision(spec) {
      const result = await call<ProvisionResult>('provision', spec)
      if (result.outcome !== 'provisioned') return result
      const { instance } = result
      return { outcome: 'provisioned', instance: { ...instance, startedAt: new Date(instance.startedAt) } }
    },
    ensureEngine: (spec) => call<EngineObservation>('ensureEngine', spec),
    observeEngine: (id) => call<EngineObservation>('observeEngine', id),
    stopEngine: (id) => call('stopEngine', id),
    release: (id) => call('release', id),
    listEngineIds: () => call('listEngineIds'),
    close: async () => {},
  }
}
