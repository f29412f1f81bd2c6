import { formatFileSize } from '../../../format-bytes.ts'
import type { EngineObservation } from '../../../ports/model-runtime.ts'
import * as answers from './answers.ts'
import { toFailure } from './faults.ts'
import type { Supervisor } from './supervisor.ts'

export interface Looking {
  /** A failure from before the model was ended is no longer one */
  ignoresFailures: boolean
  /** What a failure is that no rule knows: of a launch, or of an engine that ran */
  unknown: 'launch_rejected' | 'engine_crashed'
}

/** The part of a launch that is the download, of 1; Xinference's own measure. */
const downloadShare = 0.8

/**
 * What is seen of a model on a supervisor. That it failed is told by its instance, its replicas or its events: the model itself is
 * unknown by then, and its progress is that of one that never was.
 */
export async function observeModel(
  supervisor: Supervisor,
  uid: string,
  looking: Looking,
): Promise<EngineObservation> {
  const status = await supervisor.findStatus(uid)
  if (status === 'ERROR') {
    if (looking.ignoresFailures) return { phase: 'absent' }
    return { phase: 'failed', ...toFailure(await findReason(supervisor, uid), looking.unknown) }
  }
  if (status === 'TERMINATING') return { phase: 'starting', message: 'The model is being ended.' }
  if (status === null || status === 'READY') return observeUnlisted(supervisor, uid, looking, status)
  return observeLaunch(supervisor, uid, looking)
}

/** A model whose instance is ready, or that has none (any longer). */
async function observeUnlisted(
  supervisor: Supervisor,
  uid: string,
  looking: Looking,
  status: 'READY' | null,
): Promise<EngineObservation> {
  const { state } = await supervisor.describe(uid)
  if (state === 'served') return { phase: 'ready', endpoint: { baseUrl: supervisor.origin } }
  if (state === 'loading') return { phase: 'starting', message: 'Xinference is loading the model.' }
  if (status === 'READY' && !looking.ignoresFailures) return { phase: 'starting', message: notListed }
  const last = (await supervisor.listEvents(uid)).at(-1)
  if (last?.event_type !== 'ERROR' || looking.ignoresFailures) return { phase: 'absent' }
  return { phase: 'failed', ...toFailure(last.event_content, looking.unknown) }
}

/** Said of an instance that is ready and a model that is not there, which may be so for a moment. */
export const notListed = 'Xinference is about to list the model.'

async function observeLaunch(
  supervisor: Supervisor,
  uid: string,
  looking: Looking,
): Promise<EngineObservation> {
  const [progress, replicas] = await Promise.all([
    supervisor.read(`/v1/models/${encodeURIComponent(uid)}/progress`, answers.progress),
    supervisor.listReplicas(uid),
  ])
  const broken = replicas.find(({ status }) => status === 'ERROR')
  if (broken !== undefined) {
    return {
      phase: 'failed',
      ...toFailure(broken.error_message || (await findReason(supervisor, uid)), looking.unknown),
    }
  }
  return describeProgress(progress)
}

async function findReason(supervisor: Supervisor, uid: string): Promise<string> {
  const replicas = await supervisor.listReplicas(uid)
  const told = replicas.find(({ error_message }) => error_message)?.error_message
  if (told) return told
  const events = await supervisor.listEvents(uid)
  return events.findLast(({ event_type }) => event_type === 'ERROR')?.event_content ?? ''
}

function describeProgress(seen: (typeof answers.progress)['_output']): EngineObservation {
  const { stage } = seen
  const share = Math.min(Math.max(seen.progress, 0), 1)
  if (stage === 'downloading' || (stage == null && share > 0 && share < downloadShare)) {
    const files = seen.download_files ?? []
    const sizes = files.map(({ total_bytes }) => total_bytes ?? 0)
    const receivedBytes = files.reduce((sum, file) => sum + (file.downloaded_bytes ?? 0), 0)
    // The sum is known once every file's size is.
    const totalBytes = sizes.length > 0 && sizes.every((size) => size > 0) ? sum(sizes) : null
    const part = totalBytes === null ? Math.min(share / downloadShare, 1) : receivedBytes / totalBytes
    // To a tenth: a large download must be seen to move.
    const percent = (part * 100).toFixed(1)
    const amount =
      totalBytes === null ? '' : `${formatFileSize(receivedBytes)} of ${formatFileSize(totalBytes)}, `
    return {
      phase: 'downloading',
      message: `Xinference is downloading the model: ${amount}${percent} %`,
      receivedBytes,
      totalBytes,
      ...(totalBytes === null ? { fraction: part } : {}),
    }
  }
  if (stage === 'loading' || (stage == null && share >= downloadShare)) {
    return { phase: 'starting', message: 'Xinference is loading the model.' }
  }
  return { phase: 'starting', message: 'Xinference is preparing to run the model.' }
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
