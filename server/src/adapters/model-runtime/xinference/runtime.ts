import { Agent } from 'undici'
import type { EngineObservation, ModelRuntime } from '../../../ports/model-runtime.ts'
import { engineRoutes } from '../engines/engine-routes.ts'
import { llamaCpp } from '../engines/llama-cpp.ts'
import { vllm } from '../engines/vllm.ts'
import { createSerialQueue } from '../serial-queue.ts'
import { listLaunched } from './cluster.ts'
import { locateModel, toUid } from './context.ts'
import type { XinferenceContext } from './context.ts'
import { ensureModel, observeDeployment } from './ensure-model.ts'
import { SupervisorError, readEngineError } from './errors.ts'
import { maxResponseBytes } from './http.ts'
import { followEvents, readEvents } from './model-events.ts'
import { ModelList } from './model-list.ts'
import type { ModelObservation } from './observe.ts'
import { mergeNodeOffers } from './offers.ts'
import { createProgressTracker } from './progress-tracker.ts'
import { readOffers, reservePlace } from './reserve-place.ts'
import type { XinferenceSettings } from './settings.ts'
import { openSupervisor } from './supervisor.ts'
import { createTerminator } from './terminate.ts'

const uidPattern = /^dep-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/
const defaultStallMs = 20 * 60_000

/**
 * Creates the runtime that launches each deployment's model on a Xinference cluster, under the uid `dep-<deployment>`. The
 * supervisors hold the state; this process only caches locations, reservations and timers. Supervisors may be down at the start.
 * While a supervisor does not respond, its deployments are `unreachable`, because their models may still be serving.
 */
export async function createXinferenceRuntime(settings: XinferenceSettings): Promise<ModelRuntime> {
  const agent = new Agent({
    connect: { timeout: 5_000 },
    headersTimeout: 70_000,
    bodyTimeout: 15_000,
    maxResponseSize: maxResponseBytes,
  })
  const context: XinferenceContext = {
    settings,
    supervisors: settings.supervisors.map((origin) => openSupervisor(origin, agent, settings)),
    terminator: createTerminator(),
    tracker: createProgressTracker(settings.stallMs ?? defaultStallMs),
    locations: new Map(),
    reservations: new Map(),
    unreachable: new Set(),
    terminated: new Set(),
  }
  const models = new ModelList(context.supervisors, settings.modelListPatienceMs)
  return {
    name: 'xinference',
    // Xinference chooses the engine. Its other engines for the formats of vLLM share their cache as vLLM does.
    engines: [vllm, llamaCpp].map((engine) => ({
      ...engine,
      name: null,
      counts: { inEvents: 'none', afterAbort: 'none' },
      routes: engineRoutes.xinference,
      saltsCache: false,
    })),
    sharedCapacity: null,
    // Xinference downloads the revisions of its own model list.
    usesCatalogWeights: false,
    logs: {
      read: async (deploymentId, limit) => (await readEvents(context, deploymentId)).slice(-limit),
      follow: (deploymentId, tail, signal) => followEvents(context, deploymentId, tail, signal),
    },
    readAvailability: () => models.read(),
    listOffers: async () => mergeNodeOffers((await readOffers(context)).offers),
    ...serializeOperations(context),
    listDeploymentIds: () => listDeploymentIds(context),
    readEngineError,
    async authorizeEngine(baseUrl, refused) {
      const supervisor = context.supervisors.find(({ origin }) => origin === baseUrl)
      return supervisor === undefined ? null : supervisor.authorize(refused)
    },
    close: () => agent.destroy(),
  }
}

type Operations = Pick<
  ModelRuntime,
  'provision' | 'ensureEngine' | 'observeEngine' | 'stopEngine' | 'release'
>

/** The operations on one deployment. Those that change something run one after the other. */
function serializeOperations(context: XinferenceContext): Operations {
  const runSerially = createSerialQueue()
  return {
    // Serialized, so that no two deployments reserve the same capacity.
    provision: (spec) => runSerially('provision', () => reservePlace(context, spec)),
    ensureEngine: (spec) =>
      runSerially(spec.deploymentId, () =>
        track(context, spec.deploymentId, () => ensureModel(context, spec)),
      ),
    observeEngine: (deploymentId, clusterId) =>
      track(context, deploymentId, async () => {
        const supervisor = await locateModel(context, deploymentId, clusterId)
        if (supervisor === null) return { phase: 'absent' }
        return observeDeployment(context, supervisor, deploymentId, { isLaunch: false })
      }),
    stopEngine: (deploymentId, clusterId) =>
      runSerially(deploymentId, () => stopEngine(context, deploymentId, clusterId)),
    release: (deploymentId, clusterId) =>
      runSerially(deploymentId, async () => {
        if (!(await stopEngine(context, deploymentId, clusterId))) return false
        context.reservations.delete(deploymentId)
        context.locations.delete(deploymentId)
        context.terminated.delete(deploymentId)
        return true
      }),
  }
}

/** Records an observation. A SupervisorError becomes the observation `unreachable`. */
async function track(
  { unreachable, tracker, settings }: XinferenceContext,
  deploymentId: string,
  observe: () => Promise<ModelObservation>,
): Promise<EngineObservation> {
  try {
    const observation = await observe()
    unreachable.delete(deploymentId)
    return tracker.record(deploymentId, observation)
  } catch (error) {
    if (!(error instanceof SupervisorError)) throw error
    if (!unreachable.has(deploymentId)) {
      settings.logger.warn({ deploymentId, err: error }, 'a Xinference supervisor is unreachable')
    }
    unreachable.add(deploymentId)
    return { phase: 'unreachable', message: `Xinference is unreachable: ${error.message}.` }
  }
}

async function stopEngine(
  context: XinferenceContext,
  deploymentId: string,
  clusterId: string | null | undefined,
): Promise<boolean> {
  const { terminator, terminated, tracker, unreachable } = context
  const supervisor = await locateModel(context, deploymentId, clusterId)
  if (supervisor !== null && !(await terminator.terminate(supervisor, toUid(deploymentId)))) return false
  terminated.add(deploymentId)
  tracker.clear(deploymentId)
  unreachable.delete(deploymentId)
  return true
}

async function listDeploymentIds({ supervisors, locations }: XinferenceContext): Promise<string[]> {
  const results = await Promise.allSettled(
    supervisors.map(async (supervisor) => {
      const uids = await listLaunched(supervisor)
      const ids = uids.flatMap((uid) => uidPattern.exec(uid)?.[1] ?? [])
      for (const id of ids) locations.set(id, supervisor)
      return ids
    }),
  )
  const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  if (errors.length === supervisors.length) throw errors[0]
  return [...new Set(results.flatMap((result) => (result.status === 'fulfilled' ? result.value : [])))]
}
