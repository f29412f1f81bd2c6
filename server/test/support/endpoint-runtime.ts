import type { EngineObservation, EngineSpec, ModelRuntime } from '../../src/ports/model-runtime.ts'

/** An OpenAI-compatible server that somebody else runs. */
export interface Endpoint {
  /** Without a trailing slash and without `/v1` */
  url: string
  key: string
}

export interface EndpointRuntime extends ModelRuntime {
  /** Registers a server for the deployment whose model it serves under the name `modelUid`. */
  attach(modelUid: string, endpoint: Endpoint): void
}

/**
 * Creates a runtime that starts no engines: a deployment waits until somebody registers an endpoint for it.
 * Its engine is one that Berth doesn't know. Endpoints are kept in memory and outlive their deployments.
 */
export function createEndpointRuntime(): EndpointRuntime {
  const endpoints = new Map<string, Endpoint>()
  const engines = new Map<string, { modelUid: string; since: Date }>()

  const findEndpoint = (engineId: string) => endpoints.get(engines.get(engineId)?.modelUid ?? '')

  async function observeEngine(engineId: string): Promise<EngineObservation> {
    const endpoint = findEndpoint(engineId)
    if (endpoint === undefined) return { phase: 'absent' }
    const { url } = endpoint
    const status = await fetch(`${url}/health`, { signal: AbortSignal.timeout(2_000) }).then(
      (response) => response.status,
      () => null,
    )
    if (status === 200) return { phase: 'ready', endpoint: { baseUrl: url } }
    return status === 503
      ? { phase: 'starting', message: 'The endpoint is loading the model.' }
      : { phase: 'unreachable', message: 'The endpoint does not answer.' }
  }

  return {
    name: 'endpoints',
    engines: [
      {
        name: 'outsider',
        title: 'The endpoint',
        formats: ['ggufv2'],
        profile: 'outsider',
        sizing: 'per-slot',
        images: 'none',
        counts: { inEvents: 'none', afterAbort: 'none' },
        routes: {},
        version: '1.2.3',
        versionPrefix: '',
      },
    ],
    sharedCapacity: { contextTokens: 1024, parallelSequences: 2 },
    usesCatalogWeights: false,
    logs: { read: async () => [], async *follow() {} },
    nameModel: ({ modelUid }) => modelUid,
    attach: (modelUid, endpoint) => void endpoints.set(modelUid, endpoint),
    listOffers: async () => [
      {
        instanceType: 'endpoint',
        region: 'elsewhere',
        gpuCount: 0,
        gpuModel: null,
        vendor: null,
        computeCapability: null,
        memoryBytes: 2 ** 33,
        formats: ['ggufv2'],
      },
    ],
    async provision({ engineId, modelUid }) {
      const engine = engines.get(engineId) ?? { modelUid, since: new Date() }
      const endpoint = endpoints.get(modelUid)
      if (endpoint === undefined)
        return { outcome: 'pending', message: `Waiting for an endpoint that serves ${modelUid}.` }
      engines.set(engineId, engine)
      return {
        outcome: 'provisioned',
        instance: {
          instanceId: endpoint.url,
          clusterId: 'endpoints',
          gpuAllocationId: 'none',
          region: 'elsewhere',
          startedAt: engine.since,
        },
      }
    },
    ensureEngine: ({ engineId }: EngineSpec) => observeEngine(engineId),
    observeEngine,
    stopEngine: async () => true,
    async release(engineId) {
      engines.delete(engineId)
      return true
    },
    listEngineIds: async () => [...engines.keys()],
    authorizeEngine: async (baseUrl) => {
      const endpoint = [...endpoints.values()].find(({ url }) => url === baseUrl)
      return endpoint === undefined ? null : `Bearer ${endpoint.key}`
    },
    close: async () => {},
  }
}
