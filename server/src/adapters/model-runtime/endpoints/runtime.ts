import { isDeepStrictEqual } from 'node:util'
import type { EngineError, EngineErrorResponse } from '../../../ports/engine-failures.ts'
import { toAuthorization } from '../../../ports/endpoint-directory.ts'
import type { EndpointAccess, EndpointDirectory } from '../../../ports/endpoint-directory.ts'
import type { EngineObservation, InstanceOffer, ModelRuntime } from '../../../ports/model-runtime.ts'
import { endpointFormat } from '../../../ports/model-variant.ts'
import type { RuntimeEngine } from '../../../ports/runtime-engine.ts'

/** A server with OpenAI's protocol. Nothing else is known of it. */
const engine: RuntimeEngine = {
  name: 'endpoint',
  title: 'The endpoint',
  formats: [endpointFormat],
  profile: 'endpoint',
  sizing: 'shared-cache',
  images: 'native',
  counts: { inEvents: 'none', afterAbort: 'none' },
  routes: { completions: null, rerank: null },
  version: null,
  versionPrefix: '',
}

const offer: InstanceOffer = {
  instanceType: 'endpoint',
  region: 'outside',
  gpuCount: 0,
  gpuModel: null,
  vendor: null,
  computeCapability: null,
  memoryBytes: 0,
  formats: [endpointFormat],
}

const scheme = 'endpoint:'
/** All deployments of an endpoint ask it at most once in this time. */
const freshMilliseconds = 15_000
const away = 'The endpoint does not respond. Requests fail until it does.'

/**
 * Creates the runtime of servers that already run. It starts nothing: the endpoint of an engine is its
 * cluster, and requests find the endpoint's address when they need it.
 */
export function createEndpointsRuntime({
  directory,
  clock,
}: {
  directory: EndpointDirectory
  clock: () => Date
}): ModelRuntime {
  /** Whether the endpoints respond, as they did when they were last asked */
  const presences = new Map<string, { askedAt: number; access: EndpointAccess; isAway: Promise<boolean> }>()

  function isAway(id: string, access: EndpointAccess): Promise<boolean> {
    const now = performance.now()
    const last = presences.get(id)
    const isFresh = last !== undefined && now - last.askedAt < freshMilliseconds
    if (isFresh && isDeepStrictEqual(last.access, access)) return last.isAway
    const asked = { askedAt: now, access, isAway: directory.isAway(access) }
    presences.set(id, asked)
    return asked.isAway
  }

  async function observe(id: string | null, mayBeAway: boolean): Promise<EngineObservation> {
    if (id === null) return { phase: 'absent' }
    const access = await directory.find(id)
    if (access === null) {
      presences.delete(id)
      return { phase: 'absent' }
    }
    if (mayBeAway && (await isAway(id, access))) return { phase: 'unreachable', message: away }
    return { phase: 'ready', endpoint: { baseUrl: `${scheme}${id}` } }
  }

  return {
    name: 'endpoints',
    engines: [engine],
    sharedCapacity: null,
    usesCatalogWeights: false,
    logs: { read: async () => [], async *follow() {} },
    listOffers: async () => [offer],
    async provision({ variant: { weights } }) {
      if (weights.kind !== 'endpoint') {
        return { outcome: 'refused', code: 'provider_error', message: 'Endpoints load no weights.' }
      }
      const { endpoint: id } = weights
      if ((await directory.find(id)) === null) {
        return { outcome: 'refused', code: 'provider_error', message: 'The endpoint was deleted.' }
      }
      const { region } = offer
      const instance = { instanceId: id, clusterId: id, gpuAllocationId: id, region, startedAt: clock() }
      return { outcome: 'provisioned', instance }
    },
    // Adding the endpoint asked it already.
    ensureEngine: ({ variant: { weights } }) =>
      observe(weights.kind === 'endpoint' ? weights.endpoint : null, false),
    observeEngine: (_engineId, clusterId) => observe(clusterId ?? null, true),
    stopEngine: async () => true,
    release: async () => true,
    listEngineIds: async () => [],
    async reachEngine(engineUrl) {
      const access = await directory.find(engineUrl.slice(scheme.length))
      if (access === null) throw new Error('the endpoint was deleted')
      const { baseUrl, header } = access
      return { baseUrl, header, authorization: toAuthorization(access) }
    },
    readEngineError,
    close: async () => {},
  }
}

/** A text that is no error of OpenAI's shape, such as a page of a proxy, is not for callers. */
function readEngineError({ status, body }: EngineErrorResponse): EngineError | null {
  if (hasOpenAiShape(body)) return null
  return { isModelLost: false, message: `The endpoint responded with ${status}.` }
}

function hasOpenAiShape(body: string): boolean {
  try {
    const { error } = JSON.parse(body) as { error?: unknown }
    return typeof error === 'object' && error !== null && 'message' in error
  } catch {
    return false
  }
}
