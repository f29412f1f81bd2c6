import { mkdir, readdir, realpath, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { EngineObservation, EngineSpec, ModelRuntime } from '../../../ports/model-runtime.ts'
import { createSerialQueue } from '../serial-queue.ts'
import { openEngines } from './engine-choice.ts'
import { createEngineControl, type EngineStart } from './engine-control.ts'
import { followLog, limitLog, readLog } from './engine-log.ts'
import { engineFiles } from './engine-record.ts'
import { hasErrorCode } from './files.ts'
import { describeHost } from './host.ts'
import { createReservations } from './reservations.ts'
import type { LocalRuntimeSettings } from './settings.ts'
import { locateProjector } from './weight-files.ts'
import { createWeightStore } from './weights.ts'

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
  const programs = await openEngines(settings)
  const formats = programs.list.flatMap((engine) => engine.formats)
  const offers = await describeHost(settings, formats)
  const engines = createEngineControl(settings, settings.engineProgram ?? ENGINE_PROGRAM)
  const reservations = createReservations(settings, offers, { of: directoryOf, list: listDeploymentIds })
  const weights = createWeightStore(settings, () => reservations.listNeededWeights())
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

  async function limitLogs(): Promise<void> {
    for (const id of await listDeploymentIds()) await limitLog(engineFiles(directoryOf(id)).log)
  }

  async function observe(deploymentId: string): Promise<EngineObservation> {
    const engine = await engines.observe(directoryOf(deploymentId))
    return engine.phase === 'absent' ? (weights.observe(deploymentId) ?? engine) : engine
  }

  async function ensure(spec: EngineSpec): Promise<EngineObservation> {
    const directory = directoryOf(spec.deploymentId)
    // A restored DATA_DIR has no reservations.
    const provisioned = await reservations.reserve(spec)
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
        await engines.launch(directory, await buildStart(spec, model))
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

  async function buildStart(spec: EngineSpec, model: string): Promise<EngineStart> {
    const reservation = await reservations.find(spec.deploymentId)
    const found = offers.find(({ offer }) => offer.instanceType === spec.instanceType)
    const place = {
      gpus: reservation?.gpus ?? null,
      gpuModel: found?.offer.gpuModel ?? null,
      computeCapability: found?.offer.computeCapability ?? null,
    }
    return programs.build(spec, { model, projector: locateProjector(spec.variant, settings) }, place)
  }

  async function stop(deploymentId: string): Promise<boolean> {
    const directory = directoryOf(deploymentId)
    await weights.cancel(deploymentId)
    return await engines.stop(directory)
  }

  return {
    name: 'local',
    engines: programs.list,
    listOffers: async () => offers.map(({ offer }) => offer),
    provision: (spec) => runExclusive(spec.deploymentId, () => reservations.reserve(spec)),
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
