import { setTimeout as sleep } from 'node:timers/promises'
import { Agent } from 'undici'
import type {
  EngineObservation,
  EngineSpec,
  LogLine,
  ModelRuntime,
  ProvisionResult,
} from '../../../ports/model-runtime.ts'
import { createSerialQueue } from '../local/serial.ts'
import type { ModelEvent } from './answers.ts'
import { listLaunched, readNodes } from './cluster.ts'
import { SupervisorFault, tellsNoWorker, toFailure } from './faults.ts'
import { longestAnswer } from './http.ts'
import { chooseEngine, toLaunchBody } from './launch.ts'
import { observeModel } from './observe.ts'
import { findRoom, listNodeOffers, mergeNodeOffers } from './offers.ts'
import type { NodeOffer, Reservation } from './offers.ts'
import { createPatience } from './patience.ts'
import type { XinferenceSettings } from './settings.ts'
import { openSupervisor } from './supervisor.ts'
import type { Supervisor } from './supervisor.ts'
import { createTerminator } from './terminate.ts'

const uidPattern = /^dep-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/
const launchTimeoutMs = 30_000
const defaultStallMs = 20 * 60_000
const defaultFollowMs = 2_000

/**
 * Opens the runtime that launches each deployment's model on a Xinference cluster, under the uid `dep-<deployment>`. All that counts
 * is on the supervisors: what this process remembers are guesses where a model is, promises of room, and how long something took.
 * A supervisor need not be there yet. One that can't be reached is seen as `unreachable`: whether its models run nobody can tell.
 */
export async function createXinferenceRuntime(settings: XinferenceSettings): Promise<ModelRuntime> {
  const agent = new Agent({
    connect: { timeout: 5_000 },
    headersTimeout: 70_000,
    bodyTimeout: 15_000,
    maxResponseSize: longestAnswer,
  })
  const supervisors = settings.supervisors.map((origin) => openSupervisor(origin, agent, settings))
  const inTurn = createSerialQueue()
  const terminator = createTerminator()
  const patience = createPatience(settings.stallMs ?? defaultStallMs)
  const places = new Map<string, Supervisor>()
  const reservations = new Map<string, Reservation>()
  /** Deployments whose model was ended by Berth and not launched since: an older failure is none of theirs. */
  const ended = new Set<string>()

  /** Where a deployment's model is; null when no supervisor has it. Throws a SupervisorFault while that can't be told. */
  async function locate(
    deploymentId: string,
    clusterId: string | null | undefined,
  ): Promise<Supervisor | null> {
    const told = supervisors.find(({ origin }) => origin === clusterId) ?? places.get(deploymentId)
    if (told !== undefined) return told
    let fault: SupervisorFault | null = null
    for (const supervisor of supervisors) {
      try {
        const uid = toUid(deploymentId)
        const isThere =
          (await supervisor.findStatus(uid)) !== null || (await supervisor.describe(uid)).state !== 'unknown'
        if (!isThere) continue
        places.set(deploymentId, supervisor)
        return supervisor
      } catch (error) {
        if (!(error instanceof SupervisorFault)) throw error
        fault = error
      }
    }
    if (fault !== null) throw fault
    return null
  }

  /** Takes a look; a supervisor that is out of reach is an observation too. */
  async function look(
    deploymentId: string,
    observe: () => Promise<EngineObservation>,
  ): Promise<EngineObservation> {
    try {
      const seen = await observe()
      return seen.phase === 'unreachable' ? seen : patience.judge(deploymentId, seen)
    } catch (error) {
      if (!(error instanceof SupervisorFault)) throw error
      if (!patience.isEnduring(deploymentId)) {
        settings.logger.warn({ deploymentId, err: error }, 'a Xinference supervisor is out of reach')
      }
      return patience.endure(deploymentId, `Xinference is out of reach: ${error.message}.`)
    }
  }

  function observe(
    supervisor: Supervisor,
    deploymentId: string,
    unknown: 'launch_rejected' | 'engine_crashed',
  ): Promise<EngineObservation> {
    return observeModel(supervisor, toUid(deploymentId), {
      ignoresFailures: ended.has(deploymentId),
      unknown,
    })
  }

  async function ensure(spec: EngineSpec): Promise<EngineObservation> {
    const { deploymentId } = spec
    const supervisor = await locate(deploymentId, spec.clusterId)
    if (supervisor === null) {
      const message = 'The Xinference supervisor that it was given to is no longer among the configured ones.'
      return { phase: 'failed', stage: 'engine_startup', code: 'instance_lost', message }
    }
    const seen = await observe(supervisor, deploymentId, 'launch_rejected')
    return seen.phase === 'absent' ? launch(supervisor, spec) : seen
  }

  async function launch(supervisor: Supervisor, spec: EngineSpec): Promise<EngineObservation> {
    const { deploymentId, modelUid } = spec
    const chosen = await chooseEngine(supervisor, spec.variant)
    if ('code' in chosen) return { phase: 'failed', ...chosen }
    const nodes = await readNodes(supervisor)
    if (nodes.length === 0) return patience.endure(deploymentId, `${supervisor.host} has no worker now.`)
    const offers = nodes.flatMap((node) => listNodeOffers(node, settings.instanceTypes))
    const room = findRoom(offers, spec, [...reservations.values()])
    if (room === null) {
      const message = `Waiting for room for ${spec.instanceType} on ${supervisor.host}.`
      return { phase: 'starting', message }
    }
    reserve(spec, room)
    const body = toLaunchBody(spec, chosen.engine, nodes.length > 1 ? room.node.host : null)
    const answer = await supervisor.ask({
      method: 'POST',
      path: '/v1/models?wait_ready=false',
      body,
      timeoutMs: launchTimeoutMs,
    })
    if (answer.status === 200) {
      ended.delete(deploymentId)
      settings.logger.info(
        { deploymentId, supervisor: supervisor.origin, engine: chosen.engine },
        'launched a model',
      )
      return { phase: 'starting', message: `Xinference was asked to run the model with ${chosen.engine}.` }
    }
    if (answer.status === 400 && /already in the model list/i.test(answer.detail))
      return adopt(supervisor, spec)
    if (answer.status === 503 && tellsNoWorker(answer.detail)) {
      return patience.endure(deploymentId, `${supervisor.host} has no worker now.`)
    }
    // An error that Xinference did not expect says nothing about the model: the next try may go well.
    if (answer.body === null) {
      throw new SupervisorFault(
        `${supervisor.host} answered ${answer.status} to the launch of ${modelUid}: ${answer.detail}`,
      )
    }
    return { phase: 'failed', ...toFailure(answer.detail, 'launch_rejected') }
  }

  /** The uid is taken: by an earlier try whose answer was lost, or by another worker that was quicker. */
  async function adopt(supervisor: Supervisor, spec: EngineSpec): Promise<EngineObservation> {
    const there = await supervisor.describe(spec.modelUid)
    if (there.state === 'served' && there.modelName !== null && there.modelName !== spec.variant.modelName) {
      const message = `Xinference runs another model, ${there.modelName}, under the uid ${spec.modelUid}.`
      return { phase: 'failed', stage: 'model_launch', code: 'launch_rejected', message }
    }
    ended.delete(spec.deploymentId)
    return observe(supervisor, spec.deploymentId, 'launch_rejected')
  }

  function reserve(spec: EngineSpec, { node }: NodeOffer): void {
    const { deploymentId, modelUid, gpuCount, memoryBytes } = spec
    places.set(deploymentId, node.supervisor)
    const { host, supervisor } = node
    const { origin } = supervisor
    reservations.set(deploymentId, { uid: modelUid, origin, host, gpuCount, memoryBytes })
  }

  /** The offers of all supervisors that answer; throws a SupervisorFault where none does, or none has a worker. */
  async function readOffers(): Promise<{ offers: NodeOffer[]; silent: number }> {
    const results = await Promise.allSettled(supervisors.map(readNodes))
    const faults = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
    const nodes = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
    if (faults.length === supervisors.length) throw faults[0]
    for (const err of faults) settings.logger.warn({ err }, 'a Xinference supervisor is out of reach')
    // Workers come back some time after their supervisor has: what there will be room for nobody can tell until then.
    if (nodes.length === 0) throw new SupervisorFault('no Xinference cluster that answers has a worker')
    const offers = nodes.flatMap((node) => listNodeOffers(node, settings.instanceTypes))
    return { offers, silent: faults.length }
  }

  async function provision(spec: EngineSpec): Promise<ProvisionResult> {
    const { deploymentId, instanceType } = spec
    const { offers, silent } = await readOffers()
    const room = findRoom(offers, spec, [...reservations.values()])
    if (room === null) {
      const clusters = `${supervisors.length - silent} of ${supervisors.length} Xinference clusters answer`
      const message = `No host has room for ${instanceType} now (${clusters}).`
      return { outcome: 'refused', code: 'no_capacity', message }
    }
    reserve(spec, room)
    const { node, gpuModel, gpuCount, region } = room
    return {
      outcome: 'provisioned',
      instance: {
        // The last part of a UUIDv7 is random; the first is the time.
        instanceId: `xinference-${deploymentId.slice(-12)}`,
        clusterId: node.supervisor.origin,
        gpuAllocationId: gpuCount === 0 ? node.host : `${node.host}: ${gpuCount} x ${gpuModel ?? 'GPU'}`,
        region,
        startedAt: new Date(),
      },
    }
  }

  async function stop(deploymentId: string, clusterId: string | null | undefined): Promise<boolean> {
    const supervisor = await locate(deploymentId, clusterId)
    if (supervisor !== null && !(await terminator.terminate(supervisor, toUid(deploymentId)))) return false
    ended.add(deploymentId)
    patience.forget(deploymentId)
    return true
  }

  async function listDeploymentIds(): Promise<string[]> {
    const results = await Promise.allSettled(
      supervisors.map(async (supervisor) => {
        const uids = await listLaunched(supervisor)
        const ids = uids.flatMap((uid) => uidPattern.exec(uid)?.[1] ?? [])
        for (const id of ids) places.set(id, supervisor)
        return ids
      }),
    )
    const faults = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
    if (faults.length === supervisors.length) throw faults[0]
    return [...new Set(results.flatMap((result) => (result.status === 'fulfilled' ? result.value : [])))]
  }

  /** A model's events; of all supervisors, because one that failed to start is nowhere to be found. */
  async function readEvents(deploymentId: string): Promise<LogLine[]> {
    const results = await Promise.allSettled(
      supervisors.map((supervisor) => supervisor.listEvents(toUid(deploymentId))),
    )
    return results.flatMap((result) => {
      if (result.status === 'fulfilled') return result.value.map(toLogLine)
      settings.logger.warn({ deploymentId, err: result.reason }, 'a Xinference supervisor is out of reach')
      return []
    })
  }

  return {
    name: 'xinference',
    listOffers: async () => mergeNodeOffers((await readOffers()).offers),
    // One at a time, so that two can't be promised the same room.
    provision: (spec) => inTurn('provision', () => provision(spec)),
    ensureEngine: (spec) => inTurn(spec.deploymentId, () => look(spec.deploymentId, () => ensure(spec))),
    observeEngine: (deploymentId, clusterId) =>
      look(deploymentId, async () => {
        const supervisor = await locate(deploymentId, clusterId)
        return supervisor === null ? { phase: 'absent' } : observe(supervisor, deploymentId, 'engine_crashed')
      }),
    stopEngine: (deploymentId, clusterId) => inTurn(deploymentId, () => stop(deploymentId, clusterId)),
    release: (deploymentId, clusterId) =>
      inTurn(deploymentId, async () => {
        if (!(await stop(deploymentId, clusterId))) return false
        reservations.delete(deploymentId)
        places.delete(deploymentId)
        ended.delete(deploymentId)
        return true
      }),
    listDeploymentIds,
    readLogs: async (deploymentId, limit) => (await readEvents(deploymentId)).slice(-limit),
    async *followLogs(deploymentId, signal) {
      const toKey = ({ at, line }: LogLine) => `${at.getTime()} ${line}`
      const known = new Set((await readEvents(deploymentId)).map(toKey))
      while (!signal.aborted) {
        await sleep(settings.followIntervalMs ?? defaultFollowMs, undefined, { signal }).catch(() => {})
        const lines = signal.aborted ? [] : await readEvents(deploymentId)
        for (const line of lines) {
          if (known.has(toKey(line))) continue
          known.add(toKey(line))
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
