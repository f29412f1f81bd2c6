import type { EngineObservation, FailureCode, FailureStage } from '../../../ports/model-runtime.ts'
import { confirmInstanceSpan } from '../../metering/spans.ts'
import { moveDeployment } from '../change-store.ts'
import { toEngineSpec } from '../engine-spec.ts'
import { fail, pause, record, say } from './step.ts'
import type { Failure, Look, Taken } from './step.ts'

/** A start waits so long for a runtime that is out of reach; what has run already waits for ever. */
const unreachableDeadline = 10 * 60_000
const restartWindow = 10 * 60_000
const restartsInWindow = 3

/** Failures that starting the engine again may mend. */
const passing: ReadonlySet<FailureCode> = new Set(['engine_crashed', 'engine_unreachable', 'instance_lost'])

/** `deploying`: makes sure of an engine until it is ready. */
export async function bringUp(look: Look): Promise<Taken> {
  const { deployment, lease, world } = look
  const seen = await world.runtime.ensureEngine(toEngineSpec(deployment, world.secretKey))
  if (seen.phase !== 'ready') return handleNotReady(look, seen)
  const at = world.clock()
  const next = await moveDeployment(
    world.db,
    { id: deployment.id, from: 'deploying', to: 'running', lease, at },
    { status_message: null, engine_url: seen.endpoint.baseUrl, ran_at: at },
    { stage: null, message: 'The model answers requests.' },
    (transaction) => confirmInstanceSpan(transaction, deployment, at),
  )
  return { next }
}

/** `running`: looks whether the engine is ready, and starts a lost one again. */
export async function keepUp(look: Look): Promise<Taken> {
  const { deployment, world } = look
  const seen =
    deployment.engine_url === null
      ? await world.runtime.ensureEngine(toEngineSpec(deployment, world.secretKey))
      : await world.runtime.observeEngine(deployment.id, deployment.cluster_id)
  if (seen.phase !== 'ready') return handleNotReady(look, seen)
  const { baseUrl } = seen.endpoint
  if (deployment.engine_url !== baseUrl || deployment.status_message !== null) {
    const event = { stage: 'runtime', message: 'The model answers requests again.' }
    await record(look, { engine_url: baseUrl, status_message: null }, event)
  }
  return { waitMilliseconds: look.runningPause }
}

async function handleNotReady(
  look: Look,
  seen: Exclude<EngineObservation, { phase: 'ready' }>,
): Promise<Taken> {
  switch (seen.phase) {
    case 'downloading':
      return waitForStart(look, 'model_download', seen.message, getProgress(seen))
    case 'starting':
      return waitForStart(look, 'engine_startup', seen.message, null)
    case 'absent':
      return restartEngine(look, {
        stage: 'runtime',
        code: 'instance_lost',
        message: 'The engine is no longer there.',
      })
    case 'failed':
      return restartEngine(look, seen)
    case 'unreachable':
      return waitForRuntime(look, seen)
  }
}

/** An engine may start again by itself, while its deployment runs: callers are told to wait, instead of being sent to nobody. */
async function waitForStart(
  look: Look,
  stage: FailureStage,
  message: string,
  progress: number | null,
): Promise<Taken> {
  if (look.deployment.engine_url !== null) {
    return { next: await record(look, { engine_url: null, status_message: message }, { stage, message }) }
  }
  await say(look, stage, message, progress)
  return { waitMilliseconds: pauseWhileStarting(look) }
}

/** How much of a download is there, from 0 to 1; null where that is not known. */
function getProgress({
  receivedBytes,
  totalBytes,
  fraction,
}: Extract<EngineObservation, { phase: 'downloading' }>): number | null {
  const part = totalBytes === null || totalBytes <= 0 ? fraction : receivedBytes / totalBytes
  return part === undefined ? null : Math.min(Math.max(part, 0), 1)
}

/**
 * The engine may be well, and callers may reach it: a running deployment stays as it is and says so, for as long as it takes. One
 * that has not run yet fails in the end.
 */
async function waitForRuntime(
  look: Look,
  { message, since }: Extract<EngineObservation, { phase: 'unreachable' }>,
): Promise<Taken> {
  const { status } = look.deployment
  if (status === 'deploying' && Date.now() - since.getTime() > unreachableDeadline) {
    return fail(look, { stage: 'engine_startup', code: 'engine_unreachable', message })
  }
  await say(look, status === 'deploying' ? 'engine_startup' : 'runtime', message)
  return { waitMilliseconds: pause.running }
}

/** A quick start is seen at once; one that takes minutes is looked at every few seconds. */
function pauseWhileStarting({ deployment, world }: Look): number {
  const since =
    deployment.status === 'running'
      ? deployment.updated_at
      : (deployment.engine_restarted_at ?? deployment.status_changed_at)
  const elapsed = world.clock().getTime() - since.getTime()
  return Math.min(Math.max(elapsed / 20, pause.starting), pause.running)
}

/**
 * Starts a lost engine again, at most three times in ten minutes; what a new start can't mend fails at once. An engine whose end is
 * not confirmed yet is counted by then: the next looks go on by `ensureEngine`, which may see no failure any more.
 */
async function restartEngine(look: Look, failure: Failure): Promise<Taken> {
  const { deployment, world } = look
  const now = world.clock()
  const lastRestart = deployment.engine_restarted_at?.getTime() ?? 0
  const restarts = now.getTime() - lastRestart < restartWindow ? deployment.engine_restarts : 0
  const waiting = `${failure.message} Starting it again.`
  const ending = `${failure.message} Ending it, to start it again.`
  const isCounted = deployment.status_message === ending
  if (!passing.has(failure.code) || (restarts >= restartsInWindow && !isCounted)) {
    return fail(look, failure)
  }
  if (deployment.engine_url !== null) {
    await record(
      look,
      { engine_url: null, status_message: waiting },
      { stage: failure.stage, message: waiting },
    )
  }
  const isGone = await world.runtime.stopEngine(deployment.id, deployment.cluster_id)
  const counts = isCounted ? {} : { engine_restarts: restarts + 1, engine_restarted_at: now }
  const next = await record(look, { ...counts, status_message: isGone ? waiting : ending }, null)
  if (next === undefined) return { next }
  if (!isGone) return { waitMilliseconds: pause.stopping }
  await world.runtime.ensureEngine(toEngineSpec(deployment, world.secretKey))
  return { waitMilliseconds: pause.starting }
}
