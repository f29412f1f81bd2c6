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
import { createEngineControl } from './engine-control.ts'
import { followLog, limitLog, readLog } from './engine-log.ts'
import { engineFiles } from './engine-record.ts'
import { hasErrorCode, readJson, writeJson } from './files.ts'
import { chooseThreads, describeHost } from './host.ts'
import { createSerialQueue } from './serial.ts'
import type { LocalRuntimeSettings } from './settings.ts'
import { createWeightStore } from './weights.ts'

/** The memory of this host that a deployment holds. */
interface Reservation {
  startedAt: Date
  memoryBytes: number
}

const ENGINE_PROGRAM = fileURLToPath(new URL('../../../../../engine/src/main.ts', import.meta.url))
const DEPLOYMENT_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const LOG_CHECK_MS = 30_000

/**
 * Opens the runtime that gives each deployment an engine process of its own on this host. Everything it knows is under
 * `DATA_DIR/engines/<deployment>`, so a server that starts again finds the engines of the one before; at most one
 * process may change deployments of one folder. Calls throw RangeError for an id that is no UUID.
 */
export async function createLocalRuntime(given: LocalRuntimeSettings): Promise<ModelRuntime> {
  await mkdir(join(given.dataDirectory, 'engines'), { recursive: true, mode: 0o700 })
  // Engines are found by the folder on their command line, which must not depend on how DATA_DIR was spelled.
  const settings = { ...given, dataDirectory: await realpath(given.dataDirectory) }
  const root = join(settings.dataDirectory, 'engines')
  const host = await describeHost(settings)
  const engines = createEngineControl(settings, settings.engineProgram ?? ENGINE_PROGRAM)
  const weights = createWeightStore(settings)
  const inTurn = createSerialQueue()

  const logCheck = setInterval(() => {
    limitLogs().catch((error: unknown) =>
      settings.logger.warn({ err: error }, 'an engine log was not shortened'),
    )
  }, LOG_CHECK_MS)
  logCheck.unref()

  function directoryOf(deploymentId: string): string {
    if (!DEPLOYMENT_ID.test(deploymentId)) throw new RangeError('A deployment id must be a lower-case UUID.')
    return join(root, deploymentId)
  }

  async function listDeploymentIds(): Promise<string[]> {
    return (await readdir(root)).filter((name) => DEPLOYMENT_ID.test(name))
  }

  async function limitLogs(): Promise<void> {
    for (const id of await listDeploymentIds()) await limitLog(engineFiles(directoryOf(id)).log)
  }

  async function reserve(spec: EngineSpec): Promise<ProvisionResult> {
    const directory = directoryOf(spec.deploymentId)
    const held = await readReservation(directory)
    if (held !== null) return describeInstance(spec.deploymentId, host, held)
    const { variant, instanceType } = spec
    if (!host.formats.includes(variant.format) || instanceType !== host.instanceType) {
      const message = `This host runs ${host.formats.join(', ')} on ${host.instanceType}, not ${variant.format} on ${instanceType}.`
      return { outcome: 'refused', code: 'no_feasible_instance', message }
    }
    const others = await Promise.all(
      (await listDeploymentIds()).map((id) => readReservation(directoryOf(id))),
    )
    const taken = others.flatMap((reservation) => reservation?.memoryBytes ?? [])
    const reserved = taken.reduce((sum, bytes) => sum + bytes, 0)
    if (reserved + spec.memoryBytes > host.memoryBytes) {
      const message =
        `The engine needs ${formatMemory(spec.memoryBytes)} of memory, but this host has ${formatMemory(host.memoryBytes)} ` +
        `for engines, of which ${taken.length} others hold ${formatMemory(reserved)}.`
      return { outcome: 'refused', code: 'no_capacity', message }
    }
    const reservation = { startedAt: new Date(), memoryBytes: spec.memoryBytes }
    await mkdir(directory, { recursive: true, mode: 0o700 })
    await writeJson(engineFiles(directory).instance, {
      started_at: reservation.startedAt.toISOString(),
      memory_bytes: spec.memoryBytes,
    })
    return describeInstance(spec.deploymentId, host, reservation)
  }

  async function observe(deploymentId: string): Promise<EngineObservation> {
    const seen = await engines.observe(directoryOf(deploymentId))
    return seen.phase === 'absent' ? (weights.observe(deploymentId) ?? seen) : seen
  }

  async function ensure(spec: EngineSpec): Promise<EngineObservation> {
    const directory = directoryOf(spec.deploymentId)
    if ((await readReservation(directory)) === null) {
      const message = 'What this host had reserved for the deployment is gone.'
      return { phase: 'failed', stage: 'engine_startup', code: 'instance_lost', message }
    }
    const seen = await observe(spec.deploymentId)
    if (seen.phase !== 'absent') return seen
    // An engine that hangs outlives its launch: two of them would take the memory twice.
    if (!(await engines.stop(directory)))
      return { phase: 'starting', message: 'The engine is being ended, to be started again.' }
    const model = await weights.require(spec.deploymentId, spec.variant)
    if (model !== null) {
      try {
        await engines.launch(directory, engineArguments(spec, model, settings), spec.apiKey)
      } catch (error) {
        if (!hasErrorCode(error, 'ENOSPC', 'EDQUOT')) throw error
        const message = 'The disk of DATA_DIR is full, so the engine could not be started.'
        return { phase: 'failed', stage: 'engine_startup', code: 'disk_full', message }
      }
      settings.logger.info({ deploymentId: spec.deploymentId, model: basename(model) }, 'started an engine')
    }
    const now = await observe(spec.deploymentId)
    return now.phase === 'absent' ? { phase: 'starting', message: 'The engine is about to start.' } : now
  }

  async function stop(deploymentId: string): Promise<boolean> {
    const directory = directoryOf(deploymentId)
    await weights.forget(deploymentId)
    return await engines.stop(directory)
  }

  return {
    name: 'local',
    listOffers: async () => [host],
    // Memory is counted one deployment at a time, so that two can't take the same.
    provision: (spec) => inTurn(spec.deploymentId, () => inTurn('provision', () => reserve(spec))),
    ensureEngine: (spec) => inTurn(spec.deploymentId, () => ensure(spec)),
    observeEngine: observe,
    stopEngine: (deploymentId) => inTurn(deploymentId, () => stop(deploymentId)),
    release: (deploymentId) =>
      inTurn(deploymentId, async () => {
        if (!(await stop(deploymentId))) return false
        await rm(directoryOf(deploymentId), { recursive: true, force: true })
        return true
      }),
    listDeploymentIds,
    readLogs: (deploymentId, limit) => readLog(engineFiles(directoryOf(deploymentId)).log, limit),
    followLogs: (deploymentId, signal) => followLog(engineFiles(directoryOf(deploymentId)).log, signal),
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
  if (typeof record?.['started_at'] !== 'string' || typeof record['memory_bytes'] !== 'number') return null
  return { startedAt: new Date(record['started_at']), memoryBytes: record['memory_bytes'] }
}

function describeInstance(
  deploymentId: string,
  host: InstanceOffer,
  reservation: Reservation,
): ProvisionResult {
  return {
    outcome: 'provisioned',
    instance: {
      // The last part of a UUIDv7 is random; the first is the time.
      instanceId: `local-${deploymentId.slice(-12)}`,
      clusterId: 'local',
      gpuAllocationId: host.gpuModel ?? 'host',
      region: host.region,
      startedAt: reservation.startedAt,
    },
  }
}
