import { setImmediate as nextTurn } from 'node:timers/promises'
import type {
  EngineEndpoint,
  EngineObservation,
  EngineSpec,
  InstanceOffer,
  LogLine,
  ModelAvailability,
  ModelRuntime,
  ProvisionResult,
} from '../../src/ports/model-runtime.ts'
import { engines } from './engines.ts'

type MaybePromise<Result> = Result | Promise<Result>

/**
 * The responses of the runtime, by deployment and engine. A test replaces individual ones; a response may
 * also throw. An engine without a deployment has its id in both places.
 */
export interface Script {
  listOffers(): MaybePromise<InstanceOffer[]>
  readAvailability(): MaybePromise<ModelAvailability>
  provision(spec: EngineSpec): MaybePromise<ProvisionResult>
  ensureEngine(spec: EngineSpec): MaybePromise<EngineObservation>
  observeEngine(deploymentId: string, engineId: string): MaybePromise<EngineObservation>
  stopEngine(deploymentId: string, engineId: string): MaybePromise<boolean>
  release(deploymentId: string, engineId: string): MaybePromise<boolean>
}

export interface ScriptedRuntime extends ModelRuntime {
  /** Replaces some responses for all deployments */
  answer(changes: Partial<Script>): void
  /** Restores the defaults: every deployment starts and is released immediately */
  reset(): void
  /** The names of all calls for a deployment, in order */
  callsFor(deploymentId: string): (keyof Script)[]
  /** All engines requested so far */
  specs: EngineSpec[]
  /** Ids of deployments with an instance; a test may add others */
  allocated: Set<string>
  /** The lines of every engine's log */
  logLines: LogLine[]
}

/** An offer with enough resources for the bundled models. */
export function makeOffer(instanceType: string, changes: Partial<InstanceOffer> = {}): InstanceOffer {
  return {
    instanceType,
    region: 'test-region',
    gpuCount: 0,
    gpuModel: null,
    vendor: null,
    computeCapability: null,
    memoryBytes: 8 * 2 ** 30,
    formats: ['ggufv2'],
    ...changes,
  }
}

/** Answers of `observeEngine` with which the engine of a deployment crashes once, and is ready otherwise. */
export function crashOnce(deploymentId: string): Script['observeEngine'] {
  let hasCrashed = false
  return (id) => {
    if (hasCrashed || id !== deploymentId)
      return { phase: 'ready', endpoint: { baseUrl: 'http://127.0.0.1:9' } }
    hasCrashed = true
    return { phase: 'failed', stage: 'runtime', code: 'engine_crashed', message: 'The engine crashed.' }
  }
}

/**
 * Creates a runtime controlled by a test. Engines respond at `baseUrl` unless `ensureEngine` is replaced.
 * Instances start at the time of `clock`.
 */
export function createScriptedRuntime(
  baseUrl = 'http://127.0.0.1:9',
  clock: () => Date = () => new Date(),
): ScriptedRuntime {
  const allocated = new Set<string>()
  /** The deployments of engines, by id of the engine */
  const deployments = new Map<string, string>()
  /** Ids of engines with an instance */
  const held = new Set<string>()
  const specs: EngineSpec[] = []
  const calls: { name: keyof Script; deploymentId: string }[] = []
  const logLines: LogLine[] = []
  const endpoints = new Map<string, EngineEndpoint>()
  const defaults: Script = {
    listOffers: () => [makeOffer('small')],
    readAvailability: () => () => null,
    provision: ({ deploymentId, instanceType }) => ({
      outcome: 'provisioned',
      instance: {
        instanceId: `${instanceType}-${deploymentId}`,
        clusterId: 'test-cluster',
        gpuAllocationId: 'test-allocation',
        region: 'test-region',
        startedAt: clock(),
      },
    }),
    ensureEngine: () => ({ phase: 'ready', endpoint: { baseUrl } }),
    observeEngine: (_id, engineId) => ({ phase: 'ready', endpoint: endpoints.get(engineId) ?? { baseUrl } }),
    stopEngine: () => true,
    release: () => true,
  }
  let script = defaults
  const ownerOf = (engineId: string) => deployments.get(engineId) ?? engineId
  const holdsEngine = (deploymentId: string) => [...held].some((id) => deployments.get(id) === deploymentId)

  /** Waits for one turn of the event loop before each response, like a real runtime. */
  async function answerCall<Result>(
    name: keyof Script,
    engineId: string,
    answer: () => Result,
  ): Promise<Awaited<Result>> {
    calls.push({ name, deploymentId: ownerOf(engineId) })
    await nextTurn()
    return await answer()
  }

  return {
    name: 'scripted',
    engines: [engines.embedded, { ...engines.vllm, formats: ['pytorch', 'awq', 'fp8'], version: '0.16.0' }],
    sharedCapacity: { contextTokens: 4096, parallelSequences: 4 },
    usesCatalogWeights: true,
    loadsUploads: true,
    logs: {
      read: async (_id, limit) => logLines.slice(-limit),
      async *follow(_id, tail) {
        yield* logLines.slice(Math.max(0, logLines.length - tail))
      },
    },
    allocated,
    specs,
    logLines,
    answer: (changes) => {
      script = { ...script, ...changes }
    },
    reset: () => {
      script = defaults
    },
    callsFor: (id) => calls.filter(({ deploymentId }) => deploymentId === id).map(({ name }) => name),
    listOffers: async () => script.listOffers(),
    readAvailability: async () => script.readAvailability(),
    provision: (spec) => {
      deployments.set(spec.engineId, spec.deploymentId)
      return answerCall('provision', spec.engineId, async () => {
        const provisioning = await script.provision(spec)
        if (provisioning.outcome === 'provisioned') {
          allocated.add(spec.deploymentId)
          held.add(spec.engineId)
        }
        return provisioning
      })
    },
    ensureEngine: (spec) =>
      answerCall('ensureEngine', spec.engineId, async () => {
        specs.push(spec)
        const seen = await script.ensureEngine(spec)
        if (seen.phase === 'ready') endpoints.set(spec.engineId, seen.endpoint)
        return seen
      }),
    observeEngine: (id) => answerCall('observeEngine', id, () => script.observeEngine(ownerOf(id), id)),
    stopEngine: (id) => answerCall('stopEngine', id, () => script.stopEngine(ownerOf(id), id)),
    release: (id) =>
      answerCall('release', id, async () => {
        const released = await script.release(ownerOf(id), id)
        if (released) {
          held.delete(id)
          if (!holdsEngine(ownerOf(id))) allocated.delete(ownerOf(id))
        }
        return released
      }),
    listEngineIds: async () => [...held, ...[...allocated].filter((id) => !holdsEngine(id))],
    close: async () => {},
  }
}
