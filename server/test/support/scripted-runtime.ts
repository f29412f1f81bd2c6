import { setImmediate as nextTurn } from 'node:timers/promises'
import type {
  EngineEndpoint,
  EngineObservation,
  EngineSpec,
  InstanceOffer,
  LogLine,
  ModelRuntime,
  ProvisionResult,
} from '../../src/ports/model-runtime.ts'

type Soon<Result> = Result | Promise<Result>

/** What the runtime answers; a test replaces what it wants to see answered otherwise, by a throw too. */
export interface Script {
  listOffers(): Soon<InstanceOffer[]>
  provision(spec: EngineSpec): Soon<ProvisionResult>
  ensureEngine(spec: EngineSpec): Soon<EngineObservation>
  observeEngine(deploymentId: string): Soon<EngineObservation>
  stopEngine(deploymentId: string): Soon<boolean>
  release(deploymentId: string): Soon<boolean>
}

export interface ScriptedRuntime extends ModelRuntime {
  /** Replaces some answers from now on, for every deployment */
  answer(changes: Partial<Script>): void
  /** Goes back to answers with which every deployment runs at once and is released at once */
  reset(): void
  /** The names of the calls for a deployment so far, in order */
  callsFor(deploymentId: string): (keyof Script)[]
  /** Every engine that was asked for so far */
  specs: EngineSpec[]
  /** Deployments that hold something */
  held: Set<string>
  /** What `readLogs` answers */
  logs: LogLine[]
}

/** An offer on which the bundled models run. */
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

/**
 * A runtime that does what a test tells it, with engines that answer at `baseUrl` unless `ensureEngine` says otherwise, and
 * instances that start when `clock` says.
 */
export function createScriptedRuntime(
  baseUrl = 'http://127.0.0.1:9',
  clock: () => Date = () => new Date(),
): ScriptedRuntime {
  const held = new Set<string>()
  const specs: EngineSpec[] = []
  const calls: { name: keyof Script; deploymentId: string }[] = []
  const logs: LogLine[] = []
  const endpoints = new Map<string, EngineEndpoint>()
  const usual: Script = {
    listOffers: () => [makeOffer('small')],
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
    observeEngine: (id) => ({ phase: 'ready', endpoint: endpoints.get(id) ?? { baseUrl } }),
    stopEngine: () => true,
    release: () => true,
  }
  let script = usual

  /** A turn of the event loop lies before each answer, as it does before that of a real runtime. */
  async function play<Result>(
    name: keyof Script,
    deploymentId: string,
    answer: () => Result,
  ): Promise<Awaited<Result>> {
    calls.push({ name, deploymentId })
    await nextTurn()
    return await answer()
  }

  return {
    name: 'local',
    held,
    specs,
    logs,
    answer: (changes) => {
      script = { ...script, ...changes }
    },
    reset: () => {
      script = usual
    },
    callsFor: (id) => calls.filter(({ deploymentId }) => deploymentId === id).map(({ name }) => name),
    listOffers: async () => script.listOffers(),
    provision: (spec) =>
      play('provision', spec.deploymentId, async () => {
        const provisioning = await script.provision(spec)
        if (provisioning.outcome === 'provisioned') held.add(spec.deploymentId)
        return provisioning
      }),
    ensureEngine: (spec) =>
      play('ensureEngine', spec.deploymentId, async () => {
        specs.push(spec)
        const seen = await script.ensureEngine(spec)
        if (seen.phase === 'ready') endpoints.set(spec.deploymentId, seen.endpoint)
        return seen
      }),
    observeEngine: (id) => play('observeEngine', id, () => script.observeEngine(id)),
    stopEngine: (id) => play('stopEngine', id, () => script.stopEngine(id)),
    release: (id) =>
      play('release', id, async () => {
        const released = await script.release(id)
        if (released) held.delete(id)
        return released
      }),
    listDeploymentIds: async () => [...held],
    readLogs: async (_id, limit) => logs.slice(-limit),
    async *followLogs() {},
    close: async () => {},
  }
}
