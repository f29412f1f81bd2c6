import { setTimeout as sleep } from 'node:timers/promises'
import { formatFileSize } from '../../../base/format-bytes.ts'
import type { EngineFailure } from '../../../ports/engine-failures.ts'
import type { EngineObservation } from '../../../ports/model-runtime.ts'
import * as schemas from './response-schemas.ts'
import type { ModelEvent } from './response-schemas.ts'
import { toEngineFailure } from './errors.ts'
import type { Supervisor } from './supervisor.ts'

export interface ObserveOptions {
  /** Ignore failures that Xinference still reports from before Berth terminated the model */
  ignoresPastFailures: boolean
  /** The engine waits for its first request. An unclassified failure is then one of the launch. */
  isLaunch: boolean
}

/** `unlisted`: the instance is READY but Xinference does not list it, which normally lasts a moment. */
export type ModelObservation = EngineObservation | { phase: 'unlisted' }

/** Xinference reports the download as the first 80 % of a launch. */
const downloadFraction = 0.8

/**
 * Reads the state of a model from its supervisor. Throws SupervisorError. After a failure Xinference no
 * longer knows the model, so the failure is read from the instance, its replicas and its events.
 */
export async function observeModel(
  supervisor: Supervisor,
  uid: string,
  options: ObserveOptions,
): Promise<ModelObservation> {
  const instance = await supervisor.findInstance(uid)
  const status = instance?.status ?? null
  if (status === 'ERROR') {
    if (options.ignoresPastFailures) return { phase: 'absent' }
    return { phase: 'failed', ...toFailure(await findReason(supervisor, uid), options) }
  }
  if (status === 'TERMINATING') return { phase: 'starting', message: 'Xinference is terminating the model.' }
  if (status === null || status === 'READY') {
    const seen = await observeUnlisted(supervisor, uid, options, status)
    return seen.phase === 'ready' ? toReady(supervisor, instance?.launchedAt ?? null) : seen
  }
  return observeLaunch(supervisor, uid, options)
}

/** The observation of a model that serves. */
export function toReady(supervisor: Supervisor, launchedAt: Date | null): EngineObservation {
  const endpoint = { baseUrl: supervisor.origin }
  if (launchedAt === null) return { phase: 'ready', endpoint }
  return {
    phase: 'ready',
    endpoint,
    instance: { createdAt: launchedAt, startedAt: launchedAt, reason: null },
  }
}

/** Observes a model whose instance is READY or missing. */
async function observeUnlisted(
  supervisor: Supervisor,
  uid: string,
  options: ObserveOptions,
  status: 'READY' | null,
): Promise<ModelObservation> {
  const { state } = await supervisor.describe(uid)
  if (state === 'loading' || (state === 'served' && options.isLaunch && (await isLoading(supervisor, uid))))
    return { phase: 'starting', message: 'Xinference is loading the model.' }
  if (state === 'served') return { phase: 'ready', endpoint: { baseUrl: supervisor.origin } }
  if (status === 'READY' && !options.ignoresPastFailures) return { phase: 'unlisted' }
  const last = (await supervisor.listEvents(uid)).findLast(isOfModel)
  if (last?.event_type !== 'ERROR' || options.ignoresPastFailures) {
    await supervisor.expectSettled()
    return { phase: 'absent' }
  }
  return { phase: 'failed', ...toFailure(last.event_content, options) }
}

/** Whether an engine that loads in the background, such as vLLM, refuses requests while listed. */
async function isLoading(supervisor: Supervisor, uid: string): Promise<boolean> {
  const replicas = await supervisor.listReplicas(uid)
  return replicas.some(({ status }) => status === 'CREATING' || status === 'LOADING')
}

function toFailure(text: string, { isLaunch }: ObserveOptions): EngineFailure {
  return toEngineFailure(text, isLaunch ? 'launch_rejected' : 'engine_crashed')
}

/** A supervisor that has lost a model also records requests for it as errors of the model. */
function isOfModel({ event_content: content }: ModelEvent): boolean {
  return !/not found in the model list/i.test(content)
}

async function observeLaunch(
  supervisor: Supervisor,
  uid: string,
  options: ObserveOptions,
): Promise<EngineObservation> {
  const [progress, replicas] = await Promise.all([
    supervisor.get(`/v1/models/${encodeURIComponent(uid)}/progress`, schemas.progress),
    supervisor.listReplicas(uid),
  ])
  const failed = replicas.find(({ status }) => status === 'ERROR')
  if (failed !== undefined) {
    const reason = failed.error_message || (await findReason(supervisor, uid))
    return { phase: 'failed', ...toFailure(reason, options) }
  }
  return describeProgress(progress)
}

/** A model may fail a moment before Xinference says why. */
async function findReason(supervisor: Supervisor, uid: string): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    const replicas = await supervisor.listReplicas(uid)
    const message = replicas.find(({ error_message }) => error_message)?.error_message
    if (message) return message
    const events = await supervisor.listEvents(uid)
    const last = events.findLast(({ event_type }) => event_type === 'ERROR')
    if (last !== undefined || attempt === 3) return last?.event_content ?? ''
    await sleep(500)
  }
}

function describeProgress(launch: (typeof schemas.progress)['_output']): EngineObservation {
  const { stage } = launch
  const progress = Math.min(Math.max(launch.progress, 0), 1)
  if (stage === 'downloading' || (stage == null && progress > 0 && progress < downloadFraction)) {
    const files = launch.download_files ?? []
    const sizes = files.map(({ total_bytes }) => total_bytes ?? 0)
    const receivedBytes = files.reduce((sum, file) => sum + (file.downloaded_bytes ?? 0), 0)
    // The total is known only once all file sizes are.
    const totalBytes = sizes.length > 0 && sizes.every((size) => size > 0) ? sum(sizes) : null
    const fraction =
      totalBytes === null ? Math.min(progress / downloadFraction, 1) : receivedBytes / totalBytes
    // One decimal place makes progress visible in large downloads.
    const percent = (fraction * 100).toFixed(1)
    const amount =
      totalBytes === null ? '' : `${formatFileSize(receivedBytes)} of ${formatFileSize(totalBytes)}, `
    return {
      phase: 'downloading',
      message: `Xinference is downloading the model: ${amount}${percent} %`,
      receivedBytes,
      totalBytes,
      ...(totalBytes === null ? { fraction } : {}),
    }
  }
  if (stage === 'loading' || (stage == null && progress >= downloadFraction)) {
    return { phase: 'starting', message: 'Xinference is loading the model.' }
  }
  return { phase: 'starting', message: 'Xinference is preparing to run the model.' }
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
