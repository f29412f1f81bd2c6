import { existsSync } from 'node:fs'
import { mkdir, readdir, realpath, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type {
  EngineObservation,
  EngineSpec,
  InstanceOffer,
  ModelRuntime,
  PlannedEngine,
} from '../../../ports/model-runtime.ts'
import { readEngineError } from '../engine-errors.ts'
import { toExampleSpec } from '../engines/engine-options.ts'
import { createSerialQueue } from '../serial-queue.ts'
import { checkTemplate } from './engine/check-template.ts'
import { openContainment } from './engine/containment.ts'
import type { Containment } from './engine/containment.ts'
import { embedded } from './engine/embedded.ts'
import { createEngineControl } from './engine/engine-control.ts'
import type { EngineControl, EngineStart } from './engine/engine-control.ts'
import { followLog, hideFolder, limitLog, readLog } from './engine/engine-log.ts'
import type { LocalWeights } from './engine/local-engine.ts'
import { engineFiles } from './engine/engine-record.ts'
import { hasErrorCode } from './files.ts'
import { createAmdReading } from './amd-gpus.ts'
import { createNvidiaReading } from './gpus.ts'
import { openHostGpus, runningAgeMs } from './host-gpus.ts'
import type { HostGpus } from './host-gpus.ts'
import { engineMemoryShare, getMemoryShare, limitOffer } from './host.ts'
import type { HostOffer } from './host.ts'
import { openHost } from './inventory/host-state.ts'
import type { Host } from './inventory/host-state.ts'
import { createHostEngines } from './inventory/host-engines.ts'
import { listInstallations } from './inventory/installations.ts'
import { defaultProbe } from './inventory/probe-device.ts'
import { createReservations, localCluster, nameAllocation } from './reservations.ts'
import type { DeploymentFolders, Reservations } from './reservations.ts'
import type { LocalRuntimeSettings } from './settings.ts'
import { fetchWeights } from './weights/fetch-weights.ts'
import { listWeightPaths, locateProjector } from './weights/weight-files.ts'
import { createWeightStore } from './weights/weights.ts'
import type { WeightStore } from './weights/weights.ts'

const engineProgram = fileURLToPath(new URL('../../../../../engine/src/main.ts', import.meta.url))
const engineIdPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const logCheckMs = 30_000
/** How soon the server knows what the command `engines install` has installed */
const installationCheckMs = 5_000

/** The parts of the runtime, which its operations share. */
interface LocalContext {
  settings: LocalRuntimeSettings
  folders: DeploymentFolders
  host: Host
  gpus: HostGpus
  engines: EngineControl
  reservations: Reservations
  weights: WeightStore
  containment: Containment
}

/**
 * Runs each engine as a process. All state is in `DATA_DIR/engines/<engine>`, so that a restarted server
 * finds its engines. Only one server may use a DATA_DIR. Throws RangeError for ids that are no UUIDs.
 */
export async function createLocalRuntime(given: LocalRuntimeSettings): Promise<ModelRuntime> {
  const context = await openContext(given)
  const { settings, folders, host, reservations, weights } = context
  const stopLogChecks = startLogChecks(context)
  const installationChecks = setInterval(() => host.refresh(), installationCheckMs)
  installationChecks.unref()
  const runExclusive = createSerialQueue()
  const hidePath = hideFolder(settings.dataDirectory)
  const logOf = (engineId: string) => engineFiles(folders.of(engineId)).log
  return {
    name: 'local',
    clusterId: localCluster,
    get engines() {
      return host.programs.list
    },
    sharedCapacity: settings.sharedCapacity ?? null,
    usesCatalogWeights: true,
    loadsUploads: true,
    // Other engines render templates themselves.
    checkChatTemplate: async (templates) =>
      host.programs.list.includes(embedded) && embedded.formats.includes(templates.format)
        ? checkTemplate(templates, context.containment.rights)
        : null,
    logs: {
      read: async (engineId, limit) => (await readLog(logOf(engineId), limit)).map(hidePath),
      async *follow(engineId, tail, signal) {
        for await (const line of followLog(logOf(engineId), tail, signal)) yield hidePath(line)
      },
      isReadable: async (engineId) => existsSync(folders.of(engineId)),
    },
    weightCache: {
      measure: () => weights.cache.measure(),
      list: () => weights.cache.list(),
      listOf: (variants) =>
        Promise.all(variants.map((variant) => weights.cache.list(listWeightPaths(variant, settings)))),
      prune: () => weights.cache.prune(),
      fetch: (variant, options) => fetchWeights(weights, variant, options),
    },
    hostEngines: createHostEngines(
      settings,
      host,
      async () => (await folders.list()).map((id) => folders.of(id)),
      context.containment.rights.account,
      { readUse: (maxAgeMs) => context.gpus.readUse(maxAgeMs), listHeld: () => reservations.listHeldGpus() },
    ),
    listOffers: () => listOffers(context),
    describeCommand: async (engine) => describeCommand(context, engine),
    provision: (spec) => runExclusive(spec.engineId, () => reservations.reserve(spec)),
    ensureEngine: (spec) => runExclusive(spec.engineId, () => ensureEngine(context, spec)),
    observeEngine: (engineId) => observeEngine(context, engineId),
    onEngineStarted: (listener) => context.engines.onStarted(listener),
    stopEngine: (engineId) => runExclusive(engineId, () => stopEngine(context, engineId)),
    release: (engineId) =>
      runExclusive(engineId, async () => {
        if (!(await stopEngine(context, engineId))) return false
        await rm(folders.of(engineId), { recursive: true, force: true })
        return true
      }),
    listEngineIds: () => folders.list(),
    readEngineError,
    async close() {
      stopLogChecks()
      clearInterval(installationChecks)
      context.engines.close()
      await weights.close()
    },
  }
}

async function openContext(given: LocalRuntimeSettings): Promise<LocalContext> {
  await mkdir(join(given.dataDirectory, 'engines'), { recursive: true, mode: 0o700 })
  // An engine is found by the folder in its command line, so spellings of DATA_DIR must not matter.
  const settings = { ...given, dataDirectory: await realpath(given.dataDirectory) }
  const folders = openFolders(join(settings.dataDirectory, 'engines'))
  const containment = await openContainment(settings, await listPrograms(settings))
  const host = await openHost(settings, containment)
  const isAmd = host.inventory.devices.some(({ gpu }) => gpu.vendor === 'amd')
  const createReading = isAmd ? createAmdReading : createNvidiaReading
  const engines = createEngineControl(settings, settings.engineProgram ?? engineProgram)
  const gpus = openHostGpus({
    gpus: host.inventory.devices.map(({ gpu }) => gpu),
    memoryShare: settings.gpuMemoryShare ?? engineMemoryShare,
    readGpus: createReading(settings.environment),
    listHeldGpus: () => reservations.listHeldGpus(),
    folderOf: (engineId) => folders.of(engineId),
    logger: settings.logger,
  })
  const reservations = createReservations(settings, host, folders, gpus)
  const weights = createWeightStore(settings, () => reservations.listNeededWeights())
  return { settings, folders, host, gpus, engines, reservations, weights, containment }
}

async function listOffers({ host, gpus }: LocalContext): Promise<InstanceOffer[]> {
  host.refresh()
  const useOf = await gpus.readUse()
  return host.offers.flatMap((each) => limitOffer(each, useOf) ?? [])
}

/** The programs that engines of this host run, with Node itself. */
async function listPrograms(settings: LocalRuntimeSettings): Promise<string[]> {
  const { engineProgram: program = engineProgram, llamaServerCommand, vllmCommand } = settings
  const { probeProgram = defaultProbe } = settings
  const installed = await listInstallations(settings.dataDirectory)
  const ofOperator = [...(llamaServerCommand ?? []), ...(vllmCommand ?? [])]
  return [
    process.execPath,
    program,
    probeProgram,
    ...installed.map(({ folder }) => folder),
    ...ofOperator.filter((word, index) => index === 0 || word.startsWith('/')),
  ]
}

function openFolders(root: string): DeploymentFolders {
  return {
    of(engineId) {
      if (engineIdPattern.test(engineId)) return join(root, engineId)
      throw new RangeError('An engine id must be a lowercase UUID.')
    },
    list: async () => (await readdir(root)).filter((name) => engineIdPattern.test(name)),
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

function describeCommand({ settings, host: { programs, offers } }: LocalContext, engine: PlannedEngine) {
  const found = offers.find(({ offer }) => offer.instanceType === engine.instanceType)
  return programs.describe(toExampleSpec(engine), {
    gpus: found?.gpus == null ? null : [],
    hidesGpus: found?.hidesGpus ?? false,
    computeCapability: found?.offer.computeCapability ?? null,
    memoryShare: getMemoryShare({
      memoryShare: settings.gpuMemoryShare ?? engineMemoryShare,
      parts: found?.parts ?? 1,
    }),
  })
}

async function observeEngine(context: LocalContext, engineId: string): Promise<EngineObservation> {
  const { engines, weights, folders } = context
  const engine = await engines.observe(folders.of(engineId))
  if (engine.phase === 'absent') return weights.observe(engineId) ?? engine
  return observeGpus(context, engineId, engine)
}

/** The state of an engine, unless its GPU is lost, or it takes more of one than its share. */
async function observeGpus(
  { reservations, gpus }: LocalContext,
  engineId: string,
  engine: EngineObservation,
): Promise<EngineObservation> {
  const reservation = await reservations.find(engineId)
  if (reservation === null || reservation.gpus === null) return engine
  const { phase } = engine
  const lost = await gpus.findLost(reservation, phase === 'ready' ? runningAgeMs : undefined)
  if (lost !== null) {
    return { phase: 'failed', stage: 'runtime', code: 'instance_lost', message: lost, lostAt: 'unknown' }
  }
  const excess = phase === 'failed' ? null : await gpus.findRunFailure(engineId, reservation)
  if (excess !== null) return { phase: 'failed', ...excess }
  if (phase !== 'ready' || reservation.lost === null) return engine
  const { startedAt } = reservation
  const moved = { createdAt: startedAt, startedAt, reason: reservation.lost }
  return { ...engine, instance: { ...moved, gpuAllocationId: nameAllocation(reservation) } }
}

async function ensureEngine(context: LocalContext, spec: EngineSpec): Promise<EngineObservation> {
  const { settings, folders, engines } = context
  const { engineId } = spec
  const directory = folders.of(engineId)
  const before = await observeEngine(context, engineId)
  if (before.phase !== 'absent') return before
  // A restored DATA_DIR has no reservations.
  const provisioned = await context.reservations.reserve(spec)
  if (provisioned.outcome === 'refused') {
    const { code, message } = provisioned
    return { phase: 'failed', stage: 'engine_startup', code, message }
  }
  // A hanging engine may outlive its launch record. Two engines would use twice the memory.
  if (!(await engines.stop(directory)))
    return { phase: 'starting', message: 'Waiting for the previous engine to stop.' }
  const model = await ensureWeights(context, spec)
  if (model !== null) {
    const failure = await findStartFailure(context, spec)
    if (failure !== null) return { phase: 'failed', ...failure }
    try {
      await engines.launch(directory, await buildStart(context, directory, spec, model))
    } catch (error) {
      if (!hasErrorCode(error, 'ENOSPC', 'EDQUOT')) throw error
      const message =
        'The engine could not be started because the disk of DATA_DIR is full. Free up disk space and deploy again.'
      return { phase: 'failed', stage: 'engine_startup', code: 'disk_full', message }
    }
    settings.logger.info({ engineId, model: basename(model.model) }, 'started an engine')
  }
  const after = await observeEngine(context, engineId)
  return after.phase === 'absent' ? { phase: 'starting', message: 'The engine is about to start.' } : after
}

async function findStartFailure({ reservations, gpus }: LocalContext, spec: EngineSpec) {
  const reservation = await reservations.find(spec.engineId)
  return reservation === null ? null : gpus.findStartFailure(spec, reservation)
}

function findHost(offers: readonly HostOffer[], { instanceType }: EngineSpec): HostOffer | undefined {
  return offers.find(({ offer }) => offer.instanceType === instanceType)
}

/** The weights of an engine and its LoRAs; null while they are downloaded, one after the other. */
async function ensureWeights(
  { settings, weights }: LocalContext,
  { engineId, variant, hubToken, loras = [] }: EngineSpec,
): Promise<LocalWeights | null> {
  const model = await weights.ensure(engineId, variant, hubToken)
  if (model === null) return null
  const paths: string[] = []
  for (const lora of loras) {
    const path = await weights.ensure(engineId, lora, lora.hubToken)
    if (path === null) return null
    paths.push(lora.format === 'lora-peft' ? dirname(path) : path)
  }
  return { model, projector: locateProjector(variant, settings), loras: paths }
}

async function buildStart(
  { host: { programs, offers }, gpus, reservations, containment }: LocalContext,
  directory: string,
  spec: EngineSpec,
  weights: LocalWeights,
): Promise<EngineStart> {
  const reservation = await reservations.find(spec.engineId)
  if (reservation === null) throw new Error(`engine ${spec.engineId} starts without a reservation`)
  const found = findHost(offers, spec)
  const place = {
    gpus: reservation.gpus,
    hidesGpus: found?.hidesGpus ?? false,
    gpuModel: found?.offer.gpuModel ?? null,
    computeCapability: found?.offer.computeCapability ?? null,
    memoryShare: await gpus.findMemoryShare(reservation),
    rights: await containment.prepare(directory, reservation.weights),
  }
  return programs.build(spec, weights, place)
}

async function stopEngine({ engines, weights, folders }: LocalContext, engineId: string): Promise<boolean> {
  const directory = folders.of(engineId)
  await weights.cancel(engineId)
  return await engines.stop(directory)
}
