import type { EngineSpec } from '../../../ports/model-runtime.ts'
import { readNodes } from './cluster.ts'
import { locateModel, toUid } from './context.ts'
import type { XinferenceContext } from './context.ts'
import { SupervisorError, explainUploadFailure, isNoWorkerError, toEngineFailure } from './errors.ts'
import { chooseEngine, nameInXinference, toLaunchBody } from './launch.ts'
import { observeModel } from './observe.ts'
import type { ModelObservation } from './observe.ts'
import { findPlacement, listNodeOffers } from './offers.ts'
import type { NodeOffer } from './offers.ts'
import type { SupervisorResponse } from './http.ts'
import type { Supervisor } from './supervisor.ts'
import { locateUpload, nameAsUpload } from './upload-claims.ts'

const launchTimeoutMs = 30_000

/** Launches an engine's model if no supervisor has it, and returns its state. */
export async function ensureModel(context: XinferenceContext, spec: EngineSpec): Promise<ModelObservation> {
  const { engineId } = spec
  const supervisor = await locateModel(context, engineId, spec.clusterId)
  if (supervisor === null) {
    const message = 'The Xinference supervisor of this deployment is no longer in XINFERENCE_URLS.'
    return { phase: 'failed', stage: 'engine_startup', code: 'instance_lost', message }
  }
  if (spec.variant.weights.kind === 'upload') return ensureUpload(context, supervisor, spec)
  const observation = await observeEngine(context, supervisor, engineId, { isLaunch: true })
  return observation.phase === 'absent' ? launchModel(context, supervisor, spec) : observation
}

async function launchModel(
  context: XinferenceContext,
  supervisor: Supervisor,
  spec: EngineSpec,
): Promise<ModelObservation> {
  const choice = await chooseEngine(supervisor, spec.variant)
  if ('code' in choice) return { phase: 'failed', ...choice }
  const placement = await findPlace(context, supervisor, spec)
  return 'phase' in placement ? placement : sendLaunch(context, supervisor, spec, { ...choice, ...placement })
}

/** Launches the model of an uploaded file. One engine at a time downloads it to a cluster's workers. */
async function ensureUpload(
  context: XinferenceContext,
  supervisor: Supervisor,
  given: EngineSpec,
): Promise<ModelObservation> {
  const { claims, settings } = context
  if (settings.uploads === null) return { phase: 'failed', ...noServer }
  const spec = nameAsUpload(given)
  const seen = await observeEngine(context, supervisor, spec.engineId, { isLaunch: true })
  if (seen.phase === 'ready') await claims.end(supervisor, spec.modelUid)
  if (seen.phase === 'failed') return explainUploadFailure(seen)
  if (seen.phase !== 'absent') return seen
  const placement = await findPlace(context, supervisor, spec)
  if ('phase' in placement) return placement
  if (!(await claims.claim(supervisor, spec))) {
    return { phase: 'starting', message: 'Waiting until another engine has downloaded the same file.' }
  }
  const launched = await sendLaunch(context, supervisor, spec, { engine: 'llama.cpp', ...placement })
  if (launched.phase === 'failed' || launched.phase === 'unreachable')
    await claims.end(supervisor, spec.modelUid)
  return launched
}

const noServer = {
  stage: 'model_download',
  code: 'download_failed',
  message: "Xinference's workers do not know where to download the uploaded file. Set ENGINE_SERVER_URL.",
} as const

/** Reserves a place for a model, or says what it waits for. */
async function findPlace(
  context: XinferenceContext,
  supervisor: Supervisor,
  spec: EngineSpec,
): Promise<ModelObservation | { workerIp: string | null }> {
  const { settings, reservations } = context
  const nodes = await readNodes(supervisor)
  if (nodes.length === 0)
    return { phase: 'unreachable', message: `${supervisor.clusterId} has no worker at the moment.` }
  const offers = nodes.flatMap((node) => listNodeOffers(node, settings))
  const placement = findPlacement(offers, spec, [...reservations.values()])
  if (placement === null) {
    const message = `Waiting for free capacity for ${spec.instanceType} on ${supervisor.clusterId}.`
    return { phase: 'starting', message }
  }
  reserve(context, spec, placement)
  return { workerIp: nodes.length > 1 ? placement.node.host : null }
}

async function sendLaunch(
  context: XinferenceContext,
  supervisor: Supervisor,
  spec: EngineSpec,
  { engine, ...settings }: { engine: string; workerIp: string | null },
): Promise<ModelObservation> {
  const { gpuMemoryShare, uploads } = context.settings
  const upload = uploads === null ? null : locateUpload(spec, uploads)
  const body = toLaunchBody(spec, engine, { ...settings, gpuMemoryShare, upload })
  const response = await supervisor.request({
    method: 'POST',
    path: '/v1/models?wait_ready=false',
    body,
    timeoutMs: launchTimeoutMs,
  })
  return readLaunchResponse(context, supervisor, spec, { engine, response })
}

async function readLaunchResponse(
  context: XinferenceContext,
  supervisor: Supervisor,
  spec: EngineSpec,
  { engine, response }: { engine: string; response: SupervisorResponse },
): Promise<ModelObservation> {
  const { settings, terminated } = context
  const { engineId, modelUid } = spec
  if (response.status === 200) {
    terminated.delete(engineId)
    settings.logger.info({ engineId, supervisor: supervisor.origin, engine }, 'launched a model')
    return { phase: 'starting', message: `Xinference is launching the model with ${engine}.` }
  }
  if (response.status === 400 && /already in the model list/i.test(response.detail))
    return adoptExisting(context, supervisor, spec)
  if (response.status === 503 && isNoWorkerError(response.detail)) {
    return { phase: 'unreachable', message: `${supervisor.clusterId} has no worker at the moment.` }
  }
  // A response without JSON is an internal error of Xinference. A retry may succeed.
  if (response.body === null) {
    throw new SupervisorError(
      `${supervisor.clusterId} could not launch ${modelUid} (${response.status}): ${response.detail}`,
    )
  }
  return { phase: 'failed', ...toEngineFailure(response.detail, 'launch_rejected') }
}

/** Takes over a model with the uid from another worker, or from a launch whose response was lost. */
async function adoptExisting(
  context: XinferenceContext,
  supervisor: Supervisor,
  spec: EngineSpec,
): Promise<ModelObservation> {
  const existing = await supervisor.describe(spec.modelUid)
  if (
    existing.state === 'served' &&
    existing.modelName !== null &&
    existing.modelName !== nameInXinference(spec.variant)
  ) {
    const message = `Xinference already runs another model, ${existing.modelName}, with the uid ${spec.modelUid}.`
    return { phase: 'failed', stage: 'model_launch', code: 'launch_rejected', message }
  }
  context.terminated.delete(spec.engineId)
  return observeEngine(context, supervisor, spec.engineId, { isLaunch: true })
}

/** Observes the model of an engine. Failures from before Berth terminated it are ignored. */
export function observeEngine(
  { terminated }: XinferenceContext,
  supervisor: Supervisor,
  engineId: string,
  { isLaunch }: { isLaunch: boolean },
): Promise<ModelObservation> {
  return observeModel(supervisor, toUid(engineId), {
    ignoresPastFailures: terminated.has(engineId),
    isLaunch,
  })
}

/** Keeps a place for a model that Xinference may not list yet. */
export function reserve(
  { locations, reservations }: XinferenceContext,
  spec: EngineSpec,
  { node }: NodeOffer,
): void {
  const { engineId, modelUid, gpuCount, memoryBytes } = spec
  locations.set(engineId, node.supervisor)
  const { host, supervisor } = node
  const { origin } = supervisor
  reservations.set(engineId, { uid: modelUid, origin, host, gpuCount, memoryBytes })
}
