import { mkdir, readdir, realpath, rm } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { formatMemory } from '../../../format-bytes.ts'
import type {
  EngineObservation,
  EngineSpec,
  InstanceOffer,
  ModelRuntime,
  ProvisionResult,
} from '../../../ports/model-runtime.ts'
import { createSerialQueue } from '../serial-queue.ts'
import { createEngineControl } from './engine-control.ts'
import { followLog, limitLog, readLog } from './engine-log.ts'
import { engineFiles } from './engine-record.ts'
import { hasErrorCode, readJson, writeJson } from './files.ts'
import { chooseThreads, describeHost } from './host.ts'
import type { LocalRuntimeSettings } from './settings.ts'
import { listWeightPaths } from './weight-files.ts'
import { createWeightStore } from './weights.ts'

/** What a deployment has reserved on this host. */
interface Reservation {
  startedAt: Date
  memoryBytes: number
  /** Paths of the weights that it needs; null in a record of an older version */
  weights: string[] | null
}

const ENGINE_PROGRAM = fileURLToPath(new URL('../../../../../engine/src/main.ts', import.meta.url))
const DEPLOYMENT_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const LOG_CHECK_MS = 30_000

/**
 * Creates the runtime that runs each engine as a process on this host. All state is in `DATA_DIR/engines/<deployment>`, so a
 * restarted server finds its engines again. Only one server process may use a DATA_DIR. Methods throw RangeError if a deployment
 * id is not a UUID.
 */
export async function createLocalRuntime(given: LocalRuntimeSettings): Promise<ModelRuntime> {
  await mkdir(join(given.dataDirectory, 'engines'), { recursive: true, mode: 0o700 })
  // Engines are identified by the folder in their command line, so the path must not depend on the spelling of DATA_DIR.
  const settings = { ...given, dataDirectory: await realpath(given.dataDirectory) }
  const root = join(settings.dataDirectory, 'engines')
  const host = await describeHost(settings)
  const engines = createEngineControl(settings, settings.engineProgram ?? ENGINE_PROGRAM)
  const weights = createWeightStore(settings, listNeededWeights)
  const runExclusive = createSerialQueue()

  const logCheck = setInterval(() => {
    limitLogs().catch((error: unknown) =>
      settings.logger.warn({ err: error }, 'could not rotate an engine log'),
    )
  }, LOG_CHECK_MS)
  logCheck.unref()

  function directoryOf(deploymentId: string): string {
    if (!DEPLOYMENT_ID.test(deploymentId)) throw new RangeError('A deployment id must be a lowercase UUID.')
    return join(root, deploymentId)
  }

  async function listDeploymentIds(): Promise<string[]> {
    return (await readdir(root)).filter((name) => DEPLOYMENT_ID.test(name))
  }

  async function listReservations(): Promise<Reservation[]> {
    const ids = await listDeploymentIds()
    const found = await Promise.all(ids.map((id) => readReservation(directoryOf(id))))
    return found.filter((reservation) => reservation !== null)
  }

  /** null while a deployment of an older version runs, whose weights are unknown. */
  async function listNeededWeights(): Promise<string[] | null> {
    const lists = (await listReservations()).map(({ weights }) => weights)
    return lists.includes(null) ? null : lists.flatMap((paths) => paths ?? [])
  }

  async function limitLogs(): Promise<void> {
    for (const id of await listDeploymentIds()) await limitLog(engineFiles(directoryOf(id)).log)
  }

  /** Only one reservation runs at a time, so that two deployments can't reserve the same memory. */
  function provision(spec: EngineSpec): Promise<ProvisionResult> {
    return runExclusive('provision', () => reserve(spec))
  }

  async function reserve(spec: EngineSpec): Promise<ProvisionResult> {
    const directory = directoryOf(spec.deploymentId)
    const existing = await readReservation(directory)
    if (existing !== null) return describeInstance(spec.deploymentId, host, existing)
    const { variant, instanceType } = spec
    if (!host.formats.includes(variant.format) || instanceType !== host.instanceType) {
      const message = `This host supports ${host.formats.join(', ')} on ${host.instanceType}, not ${variant.format} on ${instanceType}.`
      return { outcome: 'refused', code: 'no_feasible_instance', message }
    }
    const sizes = (await listReservations()).map(({ memoryBytes }) => memoryBytes)
    const reserved = sizes.reduce((sum, bytes) => sum + bytes, 0)
    if (reserved + spec.memoryBytes > host.memoryBytes) {
      const message =
        `The engine needs ${formatMemory(spec.memoryBytes)} of memory, but other deployments (${sizes.length}) use ` +
        `${formatMemory(reserved)} of the ${formatMemory(host.memoryBytes)} that this host has for engines. ` +
        'Terminate a deployment or choose a smaller model.'
      return { outcome: 'refused', code: 'no_capacity', message }
    }
    const { memoryBytes } = spec
    const reservation = {
      startedAt: new Date(),
      memoryBytes,
      weights: listWeightPaths(variant.weights, settings),
    }
    await mkdir(directory, { recursive: true, mode: 0o700 })
    await writeJson(engineFiles(directory).instance, {
      started_at: reservation.startedAt.toISOString(),
      memory_bytes: memoryBytes,
      weights: reservation.weights,
    })
    return describeInstance(spec.deploymentId, host, reservation)
  }

  async function observe(deploymentId: string): Promise<EngineObservation> {
    const engine = await engines.observe(directoryOf(deploymentId))
    return engine.phase === 'absent' ? (weights.observe(deploymentId) ?? engine) : engine
  }

  async function ensure(spec: EngineSpec): Promise<EngineObservation> {
    const directory = directoryOf(spec.deploymentId)
    // A restored DATA_DIR has no reservations.
    const provisioned = await provision(spec)
    if (provisioned.outcome === 'refused') {
      const { code, message } = provisioned
      return { phase: 'failed', stage: 'engine_startup', code, message }
    }
    const before = await observe(spec.deploymentId)
    if (before.phase !== 'absent') return before
    // A hanging engine may outlive its launch record. Two engines would use twice the memory.
    if (!(await engines.stop(directory)))
      return { phase: 'starting', message: 'Waiting for the previous engine to stop.' }
    const model = await weights.ensure(spec.deploymentId, spec.variant)
    if (model !== null) {
      try {
        await engines.launch(directory, engineArguments(spec, model, settings), spec.apiKey)
      } catch (error) {
        if (!hasErrorCode(error, 'ENOSPC', 'EDQUOT')) throw error
        const message =
          'The engine could not be started because the disk of DATA_DIR is full. Free up disk space and deploy again.'
        return { phase: 'failed', stage: 'engine_startup', code: 'disk_full', message }
      }
      settings.logger.info({ deploymentId: spec.deploymentId, model: basename(model) }, 'started an engine')
    }
    const after = await observe(spec.deploymentId)
    return after.phase === 'absent' ? { phase: 'starting', message: 'The engine is about to start.' } : after
  }

  async function stop(deploymentId: string): Promise<boolean> {
    const directory = directoryOf(deploymentId)
    await weights.cancel(deploymentId)
    return await engines.stop(directory)
  }

  return {
    name: 'local',
    engines: [{ name: 'embedded', formats: host.formats, version: null, acceptsImages: false }],
    listOffers: async () => [host],
    provision: (spec) => runExclusive(spec.deploymentId, () => provision(spec)),
    ensureEngine: (spec) => runExclusive(spec.deploymentId, () => ensure(spec)),
    observeEngine: observe,
    stopEngine: (deploymentId) => runExclusive(deploymentId, () => stop(deploymentId)),
    release: (deploymentId) =>
      runExclusive(deploymentId, async () => {
        if (!(await stop(deploymentId))) return false
        await rm(directoryOf(deploymentId), { recursive: true, force: true })
        return true
      }),
    listDeploymentIds,
    readLogs: (deploymentId, limit) => readLog(engineFiles(directoryOf(deploymentId)).log, limit),
    followLogs: (deploymentId, tail, signal) =>
      followLog(engineFiles(directoryOf(deploymentId)).log, tail, signal),
    measureWeightCache: () => weights.measure(),
    async close() {
      clearInterval(logCheck)
      await weights.close()
    },
  }
}

function engineArguments(spec: EngineSpec, model: string, settings: LocalRuntimeSettings): string[] {
  const options = {
    model,
    alias: spec.modelUid,
    type: spec.variant.modelType === 'embedding' ? 'embedding' : 'chat',
    context: spec.contextTokens,
    parallel: spec.parallelSequences,
    threads: chooseThreads(availableParallelism(), settings.expectedEngines ?? 2),
  }
  return Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)])
}

async function readReservation(directory: string): Promise<Reservation | null> {
  const record = await readJson(engineFiles(directory).instance)
  const { started_at: startedAt, memory_bytes: memoryBytes, weights } = record ?? {}
  if (typeof startedAt !== 'string' || typeof memoryBytes !== 'number') return null
  return {
    startedAt: new Date(startedAt),
    memoryBytes,
    weights: Array.isArray(weights) ? weights.map(String) : null,
  }
}

function describeInstance(
  deploymentId: string,
  host: InstanceOffer,
  reservation: Reservation,
): ProvisionResult {
  return {
    outcome: 'provisioned',
    instance: {
      // The last part of a UUIDv7 is random, unlike the first, which is the time.
      instanceId: `local-${deploymentId.slice(-12)}`,
      clusterId: 'local',
      gpuAllocationId: host.gpuModel ?? 'host',
      region: host.region,
      startedAt: reservation.startedAt,
    },
  }
}
