import type { WaitingFor, WaitingState } from './lifecycle.ts'
import { describeNextAttempt, hasGivenUp, isRecovering } from './recovery.ts'
import { needsResize } from './resize.ts'
import type { Deployment } from './store.ts'

/** What a deployment says while it waits, unless it knows more */
const sentences = {
  release: 'The instance is being released.',
  drain: 'The requests in flight are being finished before the instance is released.',
  retry: 'The compute backend returned an error. Retrying.',
  resize:
    'An instance with the changed settings starts and takes over. Until then the model serves as before.',
} as const satisfies Partial<Record<WaitingFor, string>>

/** What a step waits for. `message` is a sentence for a person, `progress` goes from 0 to 1. */
export type Waiting =
  | { for: Exclude<WaitingState, keyof typeof sentences>; message: string; progress?: number | null }
  | { for: 'retry'; message?: string | undefined; progress?: undefined }
  | { for: Exclude<keyof typeof sentences, 'retry' | 'resize'>; message?: undefined; progress?: undefined }

/** The columns that record what a step waits for; null for nothing. */
export function toWaitingColumns(waiting: Waiting | null) {
  return {
    waiting_for: waiting?.for ?? null,
    status_message: waiting?.message ?? null,
    progress: waiting?.progress ?? null,
  }
}

/** The sentence for a person. */
export function describeWaiting(waiting: Waiting): string {
  return waiting.message ?? sentences[waiting.for]
}

type WaitingDeployment = Pick<
  Deployment,
  | 'status'
  | 'waiting_for'
  | 'status_message'
  | 'refusal'
  | 'recovery'
  | 'min_context_tokens'
  | 'min_parallel_sequences'
  | 'adapters'
  | 'engine_options'
  | 'engine_version'
>
type Capacity = Parameters<typeof needsResize>[1]

/** What a deployment waits for, also for another instance if one serves less than the owner asks for. */
export function findWaitingFor(deployment: WaitingDeployment, instance: Capacity | null): WaitingFor | null {
  if (deployment.waiting_for !== null) return deployment.waiting_for
  if (deployment.status !== 'running') return null
  return instance !== null && needsResize(deployment, instance) ? 'resize' : null
}

/** The `status_message` of the API. */
export function toStatusMessage(deployment: WaitingDeployment, instance: Capacity | null): string | null {
  const refusal = deployment.refusal?.message ?? null
  if (deployment.status === 'sleeping') {
    return refusal ?? (hasGivenUp(deployment) ? deployment.recovery!.cause.message : null)
  }
  if (isRecovering(deployment)) return explainRecovery(deployment)
  const waitingFor = findWaitingFor(deployment, instance)
  if (refusal !== null && waitingFor === 'resize') {
    return `No other instance starts beside the present one: ${refusal} The change takes effect when the engine starts next.`
  }
  if (refusal !== null && waitingFor === null && deployment.status === 'running') {
    return `There is no further instance yet. ${refusal}`
  }
  return waitingFor === null ? null : toSentence(waitingFor, deployment)
}

function toSentence(waitingFor: WaitingFor, { status_message: message }: WaitingDeployment): string | null {
  const known: Partial<Record<WaitingFor, string>> = sentences
  return (waitingFor === 'resize' ? null : message) ?? known[waitingFor] ?? null
}

/** The cause of the outage, and how far the next attempt is */
function explainRecovery(deployment: WaitingDeployment): string {
  const { waiting_for: waitingFor, recovery } = deployment
  const present = waitingFor === null ? describeNextAttempt(recovery!) : toSentence(waitingFor, deployment)
  return `${recovery!.cause.message} ${present ?? ''}`.trim()
}
