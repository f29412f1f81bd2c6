import { setTimeout as sleep } from 'node:timers/promises'
import { Agent } from 'undici'
import type {
  EngineObservation,
  EngineSpec,
  LogLine,
  ModelRuntime,
  ProvisionResult,
} from '../../../ports/model-runtime.ts'
import { createSerialQueue } from '../serial-queue.ts'
import type { ModelEvent } from './response-schemas.ts'
import { listLaunched, readNodes } from './cluster.ts'
import { SupervisorError, isNoWorkerError, toEngineFailure } from './errors.ts'
import { maxResponseBytes } from './http.ts'
import { chooseEngine, toLaunchBody } from './launch.ts'
import { observeModel } from './observe.ts'
import { findPlacement, gpuFormats, listNodeOffers, mergeNodeOffers } from './offers.ts'
import type { NodeOffer, Reservation } from './offers.ts'
import { createProgressTracker } from './progress-tracker.ts'
import type { XinferenceSettings } from './settings.ts'
import { openSupervisor } from './supervisor.ts'
import type { Supervisor } from './supervisor.ts'
import { createTerminator } from './terminate.ts'

const uidPattern = /^dep-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/
const launchTimeoutMs = 30_000
const defaultStallMs = 20 * 60_000
const defaultFollowMs = 2_000

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
  const supervisors = settings.supervisors.map((origin) => openSupervisor(origin, agent, settings))
  const runSerially = createSerialQueue()
  const terminator = createTerminator()
  const tracker = createProgressTracker(settings.stallMs ?? defaultStallMs)
  const locations = new Map<string, Supervisor>()
  const reservations = new Map<string, Reservation>()
  /** Deployments whose supervisor did not respond the last time; the log has it once */
  const unreachable = new Set<string>()
  /** Deployments whose model Berth terminated and has not launched since. Failures from before are ignored. */
  const terminated = new Set<string>()

  /** Finds the supervisor of a deployment's model; null if none has it. Throws SupervisorError if one does not respond. */
  async function locate(
    deploymentId: string,
    clusterId: string | null | undefined,
  ): Promise<Supervisor | null> {
    const known = supervisors.find(({ origin }) => origin === clusterId) ?? locations.get(deploymentId)
    if (known !== undefined) return known
    let lastError: SupervisorError | null = null
    for (const supervisor of supervisors) {
      try {
        const uid = toUid(deploymentId)
        const hasModel =
          (await supervisor.findInstance(uid)) !== null ||
          (await supervisor.describe(uid)).state !== 'unknown'
        if (!hasModel) continue
        locations.set(deploymentId, supervisor)
        return supervisor
      } catch (error) {
        if (!(error instanceof SupervisorError)) throw error
        lastError = error
      }
    }
    if (lastError !== null) throw lastError
    return null
  }

  /** Records an observation. A SupervisorError becomes the observation `unreachable`. */
  async function track(
    deploymentId: string,
    observe: () => Promise<EngineObservation>,
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

  function observe(
    supervisor: Supervisor,
    deploymentId: string,
    { isLaunch }: { isLaunch: boolean },
  ): Promise<EngineObservation> {
    return observeModel(supervisor, toUid(deploymentId), {
      ignoresPastFailures: terminated.has(deploymentId),
      isLaunch,
    })
  }

  async function ensureEngine(spec: EngineSpec): Promise<EngineObservation> {
    const { deploymentId } = spec
    const supervisor = await locate(deploymentId, spec.clusterId)
    if (supervisor === null) {
      const message = 'The Xinference supervisor of this deployment is no longer in XINFERENCE_URLS.'
      return { phase: 'failed', stage: 'engine_startup', code: 'instance_lost', message }
    }
    const observation = await observe(supervisor, deploymentId, { isLaunch: true })
    return observation.phase === 'absent' ? launch(supervisor, spec) : observation
  }

  async function launch(supervisor: Supervisor, spec: EngineSpec): Promise<EngineObservation> {
    const { deploymentId, modelUid } = spec
    const choice = await chooseEngine(supervisor, spec.variant)
    if ('code' in choice) return { phase: 'failed', ...choice }
    const nodes = await readNodes(supervisor)
    if (nodes.length === 0)
      return { phase: 'unreachable', message: `${supervisor.host} has no worker at the moment.` }
    const offers = nodes.flatMap((node) => listNodeOffers(node, settings))
    const placement = findPlacement(offers, spec, [...reservations.values()])
    if (placement === null) {
      const message = `Waiting for free capacity for ${spec.instanceType} on ${supervisor.host}.`
      return { phase: 'starting', message }
    }
    reserve(spec, placement)
    const body = toLaunchBody(spec, choice.engine, {
      workerIp: nodes.length > 1 ? placement.node.host : null,
      gpuMemoryShare: settings.gpuMemoryShare,
    })
    const response = await supervisor.request({
      method: 'POST',
      path: '/v1/models?wait_ready=false',
      body,
      timeoutMs: launchTimeoutMs,
    })
    if (response.status === 200) {
      terminated.delete(deploymentId)
      settings.logger.info(
        { deploymentId, supervisor: supervisor.origin, engine: choice.engine },
        'launched a model',
      )
      return { phase: 'starting', message: `Xinference is launching the model with ${choice.engine}.` }
    }
    if (response.status === 400 && /already in the model list/i.test(response.detail))
      return adoptExisting(supervisor, spec)
    if (response.status === 503 && isNoWorkerError(response.detail)) {
      return { phase: 'unreachable', message: `${supervisor.host} has no worker at the moment.` }
    }
    // A response without JSON is an internal error of Xinference. A retry may succeed.
    if (response.body === null) {
      throw new SupervisorError(
        `${supervisor.host} could not launch ${modelUid} (${response.status}): ${response.detail}`,
      )
    }
    return { phase: 'failed', ...toEngineFailure(response.detail, 'launch_rejected') }
  }

  /** Takes over a model that already has the uid, from a launch whose response was lost or from another worker. */
  async function adoptExisting(supervisor: Supervisor, spec: EngineSpec): Promise<EngineObservation> {
    const existing = await supervisor.describe(spec.modelUid)
    if (
      existing.state === 'served' &&
      existing.modelName !== null &&
      existing.modelName !== spec.variant.modelName
    ) {
      const message = `Xinference already runs another model, ${existing.modelName}, with the uid ${spec.modelUid}.`
      return { phase: 'failed', stage: 'model_launch', code: 'launch_rejected', message }
    }
    terminated.delete(spec.deploymentId)
    return observe(supervisor, spec.deploymentId, { isLaunch: true })
  }

  function reserve(spec: EngineSpec, { node }: NodeOffer): void {
    const { deploymentId, modelUid, gpuCount, memoryBytes } = spec
    locations.set(deploymentId, node.supervisor)
    const { host, supervisor } = node
    const { origin } = supervisor
    reservations.set(deploymentId, { uid: modelUid, origin, host, gpuCount, memoryBytes })
  }

  /** Reads the offers of all responding supervisors. Throws SupervisorError if none responds, or if none has a worker. */
  async function readOffers(): Promise<{ offers: NodeOffer[]; unreachable: number }> {
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

  async function provision(spec: EngineSpec): Promise<ProvisionResult> {
    const { deploymentId, instanceType } = spec
    const { offers, unreachable } = await readOffers()
    const placement = findPlacement(offers, spec, [...reservations.values()])
    if (placement === null) {
      const clusters = `${supervisors.length - unreachable} of ${supervisors.length} Xinference clusters reachable`
      const message = `No host has free capacity for ${instanceType} (${clusters}).`
      return { outcome: 'refused', code: 'no_capacity', message }
    }
    reserve(spec, placement)
    const { node, gpuModel, gpuCount, region } = placement
    return {
      outcome: 'provisioned',
      instance: {
        // The last part of a UUIDv7 is random; the first is a timestamp.
        instanceId: `xinference-${deploymentId.slice(-12)}`,
        clusterId: node.supervisor.origin,
        gpuAllocationId: gpuCount === 0 ? node.host : `${node.host}: ${gpuCount} x ${gpuModel ?? 'GPU'}`,
        region,
        startedAt: new Date(),
      },
    }
  }

  async function stopEngine(deploymentId: string, clusterId: string | null | undefined): Promise<boolean> {
    const supervisor = await locate(deploymentId, clusterId)
    if (supervisor !== null && !(await terminator.terminate(supervisor, toUid(deploymentId)))) return false
    terminated.add(deploymentId)
    tracker.clear(deploymentId)
    unreachable.delete(deploymentId)
    return true
  }

  async function listDeploymentIds(): Promise<string[]> {
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

  /** Reads a model's events from all supervisors, because a model that failed to start can't be located. */
  async function readEvents(deploymentId: string): Promise<LogLine[]> {
    const results = await Promise.allSettled(
      supervisors.map((supervisor) => supervisor.listEvents(toUid(deploymentId))),
    )
    return results.flatMap((result) => {
      if (result.status === 'fulfilled') return result.value.map(toLogLine)
      settings.logger.warn({ deploymentId, err: result.reason }, 'a Xinference supervisor is unreachable')
      return []
    })
  }

  return {
    name: 'xinference',
    // Xinference manages the versions of its engines. Its other engines for these formats share their cache as vLLM does.
    engines: [
      {
        name: 'vllm',
        formats: gpuFormats.filter((format) => format !== 'ggufv2'),
        version: null,
        acceptsImages: true,
      },
      { name: 'llama.cpp', formats: ['ggufv2'], version: null, acceptsImages: true },
    ],
    listOffers: async () => mergeNodeOffers((await readOffers()).offers),
    // Serialized, so that no two deployments reserve the same capacity.
    provision: (spec) => runSerially('provision', () => provision(spec)),
    ensureEngine: (spec) =>
      runSerially(spec.deploymentId, () => track(spec.deploymentId, () => ensureEngine(spec))),
    observeEngine: (deploymentId, clusterId) =>
      track(deploymentId, async () => {
        const supervisor = await locate(deploymentId, clusterId)
        if (supervisor === null) return { phase: 'absent' }
        return observe(supervisor, deploymentId, { isLaunch: false })
      }),
    stopEngine: (deploymentId, clusterId) =>
      runSerially(deploymentId, () => stopEngine(deploymentId, clusterId)),
    release: (deploymentId, clusterId) =>
      runSerially(deploymentId, async () => {
        if (!(await stopEngine(deploymentId, clusterId))) return false
        reservations.delete(deploymentId)
        locations.delete(deploymentId)
        terminated.delete(deploymentId)
        return true
      }),
    listDeploymentIds,
    readLogs: async (deploymentId, limit) => (await readEvents(deploymentId)).slice(-limit),
    async *followLogs(deploymentId, tail, signal) {
      const toKey = ({ at, line }: LogLine) => `${at.getTime()} ${line}`
      const existing = await readEvents(deploymentId)
      yield* existing.slice(Math.max(0, existing.length - tail))
      const sent = new Set(existing.map(toKey))
      while (!signal.aborted) {
        await sleep(settings.followIntervalMs ?? defaultFollowMs, undefined, { signal }).catch(() => {})
        const lines = signal.aborted ? [] : await readEvents(deploymentId)
        for (const line of lines) {
          if (sent.has(toKey(line))) continue
          sent.add(toKey(line))
          yield line
        }
      }
    },
    async authorizeEngine(baseUrl, refused) {
      const supervisor = supervisors.find(({ origin }) => origin === baseUrl)
      return supervisor === undefined ? null : supervisor.authorize(refused)
    },
    close: () => agent.destroy(),
  }
}

function toLogLine({ event_ts, event_type, event_content }: ModelEvent): LogLine {
  return {
    at: new Date(event_ts * 1000),
    line: `${event_type}: ${event_content.replace(/\s+/g, ' ').trim()}`,
  }
}

function toUid(deploymentId: string): string {
  return `dep-${deploymentId}`
}
