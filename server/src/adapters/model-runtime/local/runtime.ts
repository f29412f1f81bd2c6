import { existsSync } from 'node:fs'
import { mkdir, readdir, realpath, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { EngineObservation, EngineSpec, ModelRuntime } from '../../../ports/model-runtime.ts'
import { readFastApiError } from '../engine-errors.ts'
import { createSerialQueue } from '../serial-queue.ts'
import { openEngines } from './engine/engine-choice.ts'
import type { LocalEngines } from './engine/engine-choice.ts'
import { createEngineControl } from './engine/engine-control.ts'
import type { EngineControl, EngineStart } from './engine/engine-control.ts'
import { followLog, hideFolder, limitLog, readLog } from './engine/engine-log.ts'
import { engineFiles } from './engine/engine-record.ts'
import { hasErrorCode } from './files.ts'
import { describeHost } from './host.ts'
import type { HostOffer } from './host.ts'
import { createReservations } from './reservations.ts'
import type { DeploymentFolders, Reservations } from './reservations.ts'
import type { LocalRuntimeSettings } from './settings.ts'
import { listWeightPaths, locateProjector } from './weights/weight-files.ts'
import { createWeightStore } from './weights/weights.ts'
import type { WeightStore } from './weights/weights.ts'

const engineProgram = fileURLToPath(new URL('../../../../../engine/src/main.ts', import.meta.url))
const deploymentIdPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const logCheckMs = 30_000

/** The parts of the runtime, which its operations share. */
interface LocalContext {
  settings: LocalRuntimeSettings
  folders: DeploymentFolders
  programs: LocalEngines
  offers: readonly HostOffer[]
  engines: EngineControl
  reservations: Reservations
  weights: WeightStore
}

/**
 * Creates the runtime that runs each engine as a process on this host. All state is in `DATA_DIR/engines/<deployment>`, so a
 * restarted server finds its engines again. Only one server process may use a DATA_DIR. Methods throw RangeError if a deployment
 * id is not a UUID.
 */
export async function createLocalRuntime(given: LocalRuntimeSettings): Promise<ModelRuntime> {
  const context = await openContext(given)
  const { settings, folders, programs, offers, reservations, weights } = context
  const stopLogChecks = startLogChecks(context)
  const runExclusive = createSerialQueue()
  const hidePath = hideFolder(settings.dataDirectory)
  const logOf = (deploymentId: string) => engineFiles(folders.of(deploymentId)).log
  return {
    name: 'local',
    engines: programs.list,
    sharedCapacity: settings.sharedCapacity ?? null,
    usesCatalogWeights: true,
    logs: {
      read: async (deploymentId, limit) => (await readLog(logOf(deploymentId), limit)).map(hidePath),
      async *follow(deploymentId, tail, signal) {
        for await (const line of followLog(logOf(deploymentId), tail, signal)) yield hidePath(line)
      },
      isReadable: async (deploymentId) => existsSync(folders.of(deploymentId)),
    },
    weightCache: {
      measure: () => weights.cache.measure(),
      list: () => weights.cache.list(),
      listOf: (variants) =>
        Promise.all(variants.map((variant) => weights.cache.list(listWeightPaths(variant, settings)))),
      prune: () => weights.cache.prune(),
    },
    listOffers: async () => offers.map(({ offer }) => offer),
    provision: (spec) => runExclusive(spec.deploymentId, () => reservations.reserve(spec)),
    ensureEngine: (spec) => runExclusive(spec.deploymentId, () => ensureEngine(context, spec)),
    observeEngine: (deploymentId) => observeEngine(context, deploymentId),
    stopEngine: (deploymentId) => runExclusive(deploymentId, () => stopEngine(context, deploymentId)),
    release: (deploymentId) =>
      runExclusive(deploymentId, async () => {
        if (!(await stopEngine(context, deploymentId))) return false
        await rm(folders.of(deploymentId), { recursive: true, force: true })
        return true
      }),
    listDeploymentIds: () => folders.list(),
    readEngineError: readFastApiError,
    async close() {
      stopLogChecks()
      await weights.close()
    },
  }
}

async function openContext(given: LocalRuntimeSettings): Promise<LocalContext> {
  await mkdir(join(given.dataDirectory, 'engines'), { recursive: true, mode: 0o700 })
  // Engines are identified by the folder in their command line, so the path must not depend on the spelling of DATA_DIR.
  const settings = { ...given, dataDirectory: await realpath(given.dataDirectory) }
  const folders = openFolders(join(settings.dataDirectory, 'engines'))
  const programs = await openEngines(settings)
  const formats = programs.list.flatMap((engine) => engine.formats)
  const offers = await describeHost(settings, formats)
  const engines = createEngineControl(settings, settings.engineProgram ?? engineProgram)
  const reservations = createReservations(settings, offers, folders)
  const weights = createWeightStore(settings, () => reservations.listNeededWeights())
  return { settings, folders, programs, offers, engines, reservations, weights }
}

function openFolders(root: string): DeploymentFolders {
  return {
    of(deploymentId) {
      if (deploymentIdPattern.test(deploymentId)) return join(root, deploymentId)
      throw new RangeError('A deployment id must be a lowercase UUID.')
    },
    list: async () => (await readdir(root)).filter((name) => deploymentIdPattern.test(name)),
  }
}

/** Keeps the logs of all engines short. Returns a function that stops. */
function startLogChecks({ folders, settings: { logger } }: LocalContext): () => void {
  async function limitLogs(): Promise<void> {
    for (const id of await folders.list()) await limitLog(engineFiles(folders.of(id)).log)
  }
  const timer = setInterval(() => {
    limitLogs().catch((error: unknown) => logger.warn({ err: error }, 'could not rotate an engine log'))
  }, logCheckMs)
  timer.unref()
  return () => clearInterval(timer)
}

async function observeEngine(
  { engines, weights, folders }: LocalContext,
  deploymentId: string,
): Promise<EngineObservation> {
  const engine = await engines.observe(folders.of(deploymentId))
  return engine.phase === 'absent' ? (weights.observe(deploymentId) ?? engine) : engine
}

async function ensureEngine(context: LocalContext, spec: EngineSpec): Promise<EngineObservation> {
  const { settings, folders, engines, reservations, weights } = context
  const { deploymentId } = spec
  const directory = folders.of(deploymentId)
  // A restored DATA_DIR has no reservations.
  const provisioned = await reservations.reserve(spec)
  if (provisioned.outcome === 'refused') {
    const { code, message } = provisioned
    return { phase: 'failed', stage: 'engine_startup', code, message }
  }
  const before = await observeEngine(context, deploymentId)
  if (before.phase !== 'absent') return before
  // A hanging engine may outlive its launch record. Two engines would use twice the memory.
  if (!(await engines.stop(directory)))
    return { phase: 'starting', message: 'Waiting for the previous engine to stop.' }
  const model = await weights.ensure(deploymentId, spec.variant, spec.hubToken)
  if (model !== null) {
    try {
      await engines.launch(directory, await buildStart(context, spec, model))
    } catch (error) {
      if (!hasErrorCode(error, 'ENOSPC', 'EDQUOT')) throw error
      const message =
        'The engine could not be started because the disk of DATA_DIR is full. Free up disk space and deploy again.'
      return { phase: 'failed', stage: 'engine_startup', code: 'disk_full', message }
    }
    settings.logger.info({ deploymentId, model: basename(model) }, 'started an engine')
  }
  const after = await observeEngine(context, deploymentId)
  return after.phase === 'absent' ? { phase: 'starting', message: 'The engine is about to start.' } : after
}

async function buildStart(
  { settings, programs, offers, reservations }: LocalContext,
  spec: EngineSpec,
  model: string,
): Promise<EngineStart> {
  const reservation = await reservations.find(spec.deploymentId)
  const found = offers.find(({ offer }) => offer.instanceType === spec.instanceType)
  const place = {
    gpus: reservation?.gpus ?? null,
    gpuModel: found?.offer.gpuModel ?? null,
    computeCapability: found?.offer.computeCapability ?? null,
  }
  return programs.build(spec, { model, projector: locateProjector(spec.variant, settings) }, place)
}

async function stopEngine(
  { engines, weights, folders }: LocalContext,
  deploymentId: string,
): Promise<boolean> {
  const directory = folders.of(deploymentId)
  await weights.cancel(deploymentId)
  return await engines.stop(directory)
}
