import { setTimeout as sleep } from 'node:timers/promises'
import { Agent } from 'undici'
import type {
  EngineObservation,
  ModelRuntime,
  LogLine,
  EngineSpec,
  ProvisionResult,
} from '../../../ports/model-runtime.ts'
import type { OwnCluster } from '../../../ports/own-cluster.ts'
import { engineRoutes } from '../engines/engine-routes.ts'
import { llamaCpp } from '../engines/llama-cpp.ts'
import { vllm } from '../engines/vllm.ts'
import { createSerialQueue } from '../serial-queue.ts'
import { listLaunched, readNodes } from './cluster.ts'
import { Clusters } from './clusters.ts'
import { locateModel, toEngineId, toUid } from './context.ts'
import type { XinferenceContext } from './context.ts'
import { ensureModel, observeEngine, reserve } from './ensure-model.ts'
import { SupervisorError, readEngineError, hideCredentials } from './errors.ts'
import { maxResponseBytes } from './http.ts'
import { ModelList } from './model-list.ts'
import { nameAddress } from './names.ts'
import { toReady } from './observe.ts'
import type { ModelObservation } from './observe.ts'
import { mergeNodeOffers, findPlacement, listNodeOffers } from './offers.ts'
import type { NodeOffer } from './offers.ts'
import { listMachines } from './machines.ts'
import { createProgressTracker } from './progress-tracker.ts'
import type { ModelEvent } from './response-schemas.ts'
import type { OwnClusterHost, XinferenceSettings } from './settings.ts'
import { createTerminator } from './terminate.ts'
import { UploadClaims, estimateUploadMs } from './upload-claims.ts'

const defaultStallMs = 20 * 60_000

const defaultFollowMs = 2_000
/** Between two looks at the machines of the own cluster */
const lookMs = 2_000

/**
 * Launches each engine's model on a Xinference cluster, under the uid `dep-<engine>`. The supervisors hold
 * the state; this process caches locations, reservations and timers. While a supervisor does not respond,
 * also at the start, its engines are `unreachable`, because they may still be serving.
 */
export async function createXinferenceRuntime(settings: XinferenceSettings): Promise<ModelRuntime> {
  const agent = new Agent({
    connect: { timeout: 5_000 },
    headersTimeout: 70_000,
    bodyTimeout: 15_000,
    maxResponseSize: maxResponseBytes,
  })
  const clusters = new Clusters(agent, settings)
  const context: XinferenceContext = {
    settings,
    clusters,
    terminator: createTerminator(),
    tracker: createProgressTracker(settings.stallMs ?? defaultStallMs),
    claims: new UploadClaims(),
    locations: new Map(),
    reservations: new Map(),
    unreachable: new Set(),
    terminated: new Set(),
  }
  const models = new ModelList(clusters, settings.modelListPatienceMs)
  return {
    name: 'xinference',
    get clusterId() {
      const { supervisors } = clusters
      return supervisors.length === 1 ? supervisors[0]!.clusterId : undefined
    },
    get isConfigured() {
      return clusters.supervisors.length > 0
    },
    // Xinference chooses the engine. Its other engines for vLLM's formats share their cache as vLLM does.
    engines: [vllm, llamaCpp].map((engine) => ({
      ...engine,
      name: null,
      options: null,
      counts: { inEvents: 'none', afterAbort: 'none' },
      routes: engineRoutes.xinference,
      cacheSeparation: null,
    })),
    sharedCapacity: null,
    // Xinference has its own list of models with the revisions that it downloads.
    usesCatalogWeights: false,
    loadsUploads: settings.uploads !== null,
    logs: {
      read: async (engineId, limit) => (await readEvents(context, engineId)).slice(-limit),
      follow: (engineId, tail, signal) => followEvents(context, engineId, tail, signal),
    },
    readAvailability: () => models.read(settings.uploads !== null),
    listOffers: async () => mergeNodeOffers((await readOffers(context)).offers),
    ...serializeOperations(context),
    listEngineIds: () => listEngineIds(context),
    listMachines: () => listMachines(clusters, settings.ownCluster),
    ownCluster: settings.ownCluster && watchMachines(settings.ownCluster, clusters),
    nameModel: ({ engineId }) => toUid(engineId),
    readEngineError,
    async authorizeEngine(baseUrl, refused) {
      const supervisor = clusters.supervisors.find(({ origin }) => origin === baseUrl)
      return supervisor === undefined ? null : supervisor.authorize(refused)
    },
    onEngineLost(listener) {
      clusters.onLost((uid) => {
        const engineId = toEngineId(uid)
        if (engineId !== null) listener(engineId)
      })
    },
    async close() {
      clusters.close()
      settings.ownCluster?.close()
      await agent.destroy()
    },
  }
}

/** Reads all supervisors' offers. Throws SupervisorError if none responds or none has a worker. */
async function readOffers({
  clusters: { supervisors },
  settings,
}: XinferenceContext): Promise<{ offers: NodeOffer[]; unreachable: number }> {
  const results = await Promise.allSettled(supervisors.map(readNodes))
  const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  const nodes = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
  if (errors.length === supervisors.length) throw errors[0]
  for (const err of errors) settings.logger.warn({ err }, 'a Xinference supervisor is unreachable')
  // Workers rejoin some time after their supervisor restarts. Until then the capacity is unknown.
  if (nodes.length === 0) throw new SupervisorError('no reachable Xinference cluster has a worker')
  const offers = nodes.flatMap((node) => listNodeOffers(node, settings))
  return { offers, unreachable: errors.length }
}

/** Reserves a place for a model on the host with the least capacity that suffices. */
async function reservePlace(context: XinferenceContext, spec: EngineSpec): Promise<ProvisionResult> {
  const { supervisors } = context.clusters
  const { engineId, instanceType } = spec
  const { offers, unreachable } = await readOffers(context)
  const placement = findPlacement(offers, spec, [...context.reservations.values()])
  if (placement === null) {
    const clusters = `${supervisors.length - unreachable} of ${supervisors.length} Xinference clusters reachable`
    const message = `No host has free capacity for ${instanceType} (${clusters}).`
    return { outcome: 'refused', code: 'no_capacity', message }
  }
  reserve(context, spec, placement)
  const { node, gpuModel, gpuCount, region } = placement
  const name = nameAddress('host', node.host)
  return {
    outcome: 'provisioned',
    instance: {
      // The last part of a UUIDv7 is random; the first is a timestamp.
      instanceId: `xinference-${engineId.slice(-12)}`,
      clusterId: node.supervisor.clusterId,
      gpuAllocationId: gpuCount === 0 ? name : `${name}: ${gpuCount} x ${gpuModel ?? 'GPU'}`,
      region,
      startedAt: context.settings.clock?.() ?? new Date(),
    },
  }
}

/** Reads a model's events from all supervisors, because a model that failed to start can't be located. */
async function readEvents(
  { clusters: { supervisors }, settings }: XinferenceContext,
  engineId: string,
): Promise<LogLine[]> {
  const results = await Promise.allSettled(
    supervisors.map((supervisor) => supervisor.listEvents(toUid(engineId))),
  )
  return results.flatMap((result) => {
    if (result.status === 'fulfilled') return result.value.map(toLogLine)
    settings.logger.warn({ engineId, err: result.reason }, 'a Xinference supervisor is unreachable')
    return []
  })
}

/** The last `tail` events of a model, then new ones until the signal aborts. */
async function* followEvents(
  context: XinferenceContext,
  engineId: string,
  tail: number,
  signal: AbortSignal,
): AsyncIterable<LogLine> {
  const toKey = ({ at, line }: LogLine) => `${at.getTime()} ${line}`
  const existing = await readEvents(context, engineId)
  yield* existing.slice(Math.max(0, existing.length - tail))
  const sent = new Set(existing.map(toKey))
  while (!signal.aborted) {
    await sleep(context.settings.followIntervalMs ?? defaultFollowMs, undefined, { signal }).catch(() => {})
    const lines = signal.aborted ? [] : await readEvents(context, engineId)
    for (const line of lines) {
      if (sent.has(toKey(line))) continue
      sent.add(toKey(line))
      yield line
    }
  }
}

function toLogLine({ event_ts, event_type, event_content }: ModelEvent): LogLine {
  return {
    at: new Date(event_ts * 1000),
    line: `${event_type}: ${hideCredentials(event_content).replace(/\s+/g, ' ').trim()}`,
  }
}

/** Supervises the own cluster, and looks at its machines meanwhile, so that one is missed that leaves. */
function watchMachines(host: OwnClusterHost, clusters: Clusters): OwnCluster {
  return {
    start: (request, onProgress) => host.start(request, onProgress),
    stop: () => host.stop(),
    read: () => host.read(),
    describeJoin: () => host.describeJoin(),
    supervise() {
      const programs = host.supervise()
      const looking = setInterval(() => {
        if (clusters.own !== null) void listMachines(clusters, host).catch(() => undefined)
      }, lookMs)
      looking.unref()
      return {
        async stop() {
          clearInterval(looking)
          await programs.stop()
        },
      }
    },
  }
}

type Operations = Pick<
  ModelRuntime,
  'provision' | 'ensureEngine' | 'observeEngine' | 'stopEngine' | 'release'
>

/** The operations on one engine. Those that change something run one after the other. */
function serializeOperations(context: XinferenceContext): Operations {
  const runSerially = createSerialQueue()
  return {
    // Serialized, so that no two engines reserve the same capacity.
    provision: (spec) => runSerially('provision', () => reservePlace(context, spec)),
    ensureEngine: (spec) =>
      runSerially(spec.engineId, () => {
        const downloadMs = estimateUploadMs(spec.variant)
        return track(context, spec.engineId, () => ensureModel(context, spec), downloadMs)
      }),
    observeEngine: (engineId, clusterId) =>
      track(context, engineId, async () => {
        const supervisor = await locateModel(context, engineId, clusterId)
        if (supervisor === null) return { phase: 'absent' }
        const isTerminated = context.terminated.has(engineId)
        const model = isTerminated ? null : context.clusters.listedOn(supervisor).find(toUid(engineId))
        if (model !== null) return toReady(supervisor, model.launchedAt)
        return observeEngine(context, supervisor, engineId, { isLaunch: false })
      }),
    stopEngine: (engineId, clusterId) =>
      runSerially(engineId, () => stopEngine(context, engineId, clusterId)),
    release: (engineId, clusterId) =>
      runSerially(engineId, async () => {
        if (!(await stopEngine(context, engineId, clusterId))) return false
        context.reservations.delete(engineId)
        context.locations.delete(engineId)
        context.terminated.delete(engineId)
        return true
      }),
  }
}

/** Records an observation. A SupervisorError becomes the observation `unreachable`. */
async function track(
  { unreachable, tracker, settings }: XinferenceContext,
  engineId: string,
  observe: () => Promise<ModelObservation>,
  downloadMs = 0,
): Promise<EngineObservation> {
  try {
    const observation = await observe()
    unreachable.delete(engineId)
    return tracker.record(engineId, observation, downloadMs)
  } catch (error) {
    if (!(error instanceof SupervisorError)) throw error
    if (!unreachable.has(engineId)) {
      settings.logger.warn({ engineId, err: error }, 'a Xinference supervisor is unreachable')
    }
    unreachable.add(engineId)
    return { phase: 'unreachable', message: `Xinference is unreachable: ${error.message}.` }
  }
}

async function stopEngine(
  context: XinferenceContext,
  engineId: string,
  clusterId: string | null | undefined,
): Promise<boolean> {
  const { terminator, terminated, tracker, unreachable, claims, settings } = context
  const supervisor = await locateModel(context, engineId, clusterId)
  if (supervisor !== null) {
    if (!(await terminator.terminate(supervisor, toUid(engineId)))) return false
    if (settings.uploads !== null) await claims.end(supervisor, toUid(engineId))
  }
  terminated.add(engineId)
  tracker.clear(engineId)
  unreachable.delete(engineId)
  return true
}

async function listEngineIds({ clusters: { supervisors }, locations }: XinferenceContext): Promise<string[]> {
  const results = await Promise.allSettled(
    supervisors.map(async (supervisor) => {
      const uids = await listLaunched(supervisor)
      const ids = uids.flatMap((uid) => toEngineId(uid) ?? [])
      for (const id of ids) locations.set(id, supervisor)
      return ids
    }),
  )
  const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  if (errors.length === supervisors.length) throw errors[0]
  return [...new Set(results.flatMap((result) => (result.status === 'fulfilled' ? result.value : [])))]
}
