import type { EngineObservation, FailureStage, LossTime } from '../../../ports/model-runtime.ts'
import { confirmInstanceSpan } from '../../metering/spans.ts'
import { transitionDeployment, updateDeployment } from '../change-store.ts'
import { needsResize } from '../resize.ts'
import { planInstanceSwitch, recordLoss } from './instance.ts'
import { resizeEngine } from './provision.ts'
import { planRestart } from './restart-plan.ts'
import { listEvents } from '../store.ts'
import { describeWaiting } from '../waiting.ts'
import type { Waiting } from '../waiting.ts'
import { describeEngine, startEngine } from './start-engine.ts'
import { describeStartDurations } from './start-durations.ts'
import { failDeployment, pollDelay, recordChanges, reportWaiting } from './step.ts'
import type { DeploymentFailure, ReconcileContext, StepResult } from './step.ts'

/** How long a deployment may wait for an unreachable runtime before its first start; a running one waits indefinitely. */
const unreachableTimeout = 10 * 60_000

/** The step for `deploying`: starts the engine and waits until it is ready. */
export async function ensureReady(context: ReconcileContext): Promise<StepResult> {
  const { deployment, lease, deps } = context
  if (needsResize(deployment)) return resizeEngine(context)
  const engine = await startEngine(context)
  if (engine.phase !== 'ready') return handleNotReady(context, engine)
  const at = deps.clock()
  const change = planInstanceSwitch(deployment, engine.instance, at)
  const durations = describeStartDurations(await listEvents(deps.db, deployment.id, 0), at)
  const next = await transitionDeployment(
    deps.db,
    { id: deployment.id, from: 'deploying', to: 'running', lease, at },
    {
      ...change?.changes,
      engine_url: engine.endpoint.baseUrl,
      engine: describeEngine(context),
      ran_at: at,
      unreachable_since: null,
    },
    { stage: null, message: `The model is ready for requests. ${durations}`.trimEnd() },
    async (transaction) => {
      await change?.moveSpan(transaction)
      await confirmInstanceSpan(transaction, deployment, at)
    },
  )
  return { next }
}

/** The step for `running`: checks the engine and restarts it if it was lost. */
export async function ensureRunning(context: ReconcileContext): Promise<StepResult> {
  const { deployment, deps, lease } = context
  const engine =
    deployment.engine_url === null
      ? await startEngine(context)
      : await deps.runtime.observeEngine(deployment.id, deployment.cluster_id)
  if (engine.phase !== 'ready') return handleNotReady(context, engine)
  const { baseUrl } = engine.endpoint
  const at = deps.clock()
  const change = planInstanceSwitch(deployment, engine.instance, at)
  if (change !== null || deployment.engine_url !== baseUrl || deployment.waiting_for !== null) {
    // Only a new engine has the version that the runtime starts now.
    const started = deployment.engine_url === null ? { engine: describeEngine(context) } : {}
    const changes = {
      ...change?.changes,
      ...started,
      engine_url: baseUrl,
      waiting: null,
      unreachable_since: null,
    }
    const again = 'The model is ready for requests again.'
    const event = { stage: 'runtime', message: `${change?.reason ?? ''} ${again}`.trim() }
    await updateDeployment(deps.db, lease, 'running', changes, event, at, async (transaction) => {
      await change?.moveSpan(transaction)
      await confirmInstanceSpan(transaction, deployment, at)
    })
  }
  return { waitMilliseconds: context.checkInterval }
}

async function handleNotReady(
  context: ReconcileContext,
  engine: Exclude<EngineObservation, { phase: 'ready' }>,
): Promise<StepResult> {
  switch (engine.phase) {
    case 'downloading':
    case 'starting':
      return handleStart(context, engine)
    case 'absent':
      return handleLoss(context, {
        stage: 'runtime',
        code: 'instance_lost',
        message: 'The engine has disappeared.',
        lostAt: engine.lostAt,
      })
    case 'failed':
      return handleLoss(context, engine)
    case 'unreachable':
      return waitForRuntime(context, engine.message)
  }
}

/** Restarts an engine. If its instance was lost with it, the instance's billing ends at that time. */
async function handleLoss(
  context: ReconcileContext,
  failure: DeploymentFailure & { lostAt?: LossTime },
): Promise<StepResult> {
  const deployment = await recordLoss(context, failure.lostAt)
  return deployment === undefined ? { next: undefined } : restartEngine({ ...context, deployment }, failure)
}

/** Waits for an engine that starts. If it served before and was lost, its billing ends at that time. */
async function handleStart(
  context: ReconcileContext,
  engine: Extract<EngineObservation, { phase: 'downloading' | 'starting' }>,
): Promise<StepResult> {
  const isLost = engine.phase === 'starting' && context.deployment.engine_url !== null
  const deployment = await recordLoss(context, isLost ? engine.lostAt : undefined)
  if (deployment === undefined) return { next: undefined }
  const next = { ...context, deployment }
  const waiting = { for: 'engine', message: engine.message } as const
  return engine.phase === 'downloading'
    ? waitForStart(next, 'model_download', { ...waiting, progress: getProgress(engine) })
    : waitForStart(next, 'engine_startup', waiting)
}

/** The engine of a running deployment may restart by itself. Clearing `engine_url` makes the gateway answer 503 meanwhile. */
async function waitForStart(
  context: ReconcileContext,
  stage: FailureStage,
  waiting: Waiting,
): Promise<StepResult> {
  if (context.deployment.engine_url !== null) {
    const event = { stage, message: describeWaiting(waiting) }
    return { next: await recordChanges(context, { engine_url: null, waiting }, event) }
  }
  await reportWaiting(context, stage, waiting)
  return { waitMilliseconds: getStartDelay(context) }
}

/** Download progress from 0 to 1, or null when the size is unknown. */
function getProgress({
  receivedBytes,
  totalBytes,
  fraction,
}: Extract<EngineObservation, { phase: 'downloading' }>): number | null {
  const progress = totalBytes === null || totalBytes <= 0 ? fraction : receivedBytes / totalBytes
  return progress === undefined ? null : Math.min(Math.max(progress, 0), 1)
}

/**
 * An unreachable engine may still be serving requests, so a running deployment stays `running` and only reports the problem. A
 * deployment that has never run fails after the timeout.
 */
async function waitForRuntime(context: ReconcileContext, message: string): Promise<StepResult> {
  const now = context.deps.clock()
  const { status, unreachable_since: since } = context.deployment
  if (since === null) {
    const deployment = await recordChanges(context, { unreachable_since: now }, null)
    return deployment === undefined
      ? { next: undefined }
      : waitForRuntime({ ...context, deployment }, message)
  }
  if (status === 'deploying' && context.deps.observedTime.between(since, now) > unreachableTimeout) {
    return failDeployment(context, { stage: 'engine_startup', code: 'engine_unreachable', message })
  }
  const stage = status === 'deploying' ? 'engine_startup' : 'runtime'
  await reportWaiting(context, stage, { for: 'runtime', message })
  return { waitMilliseconds: pollDelay.running }
}

/** Polls often at first, then less often the longer the start takes. */
function getStartDelay({ deployment, deps }: ReconcileContext): number {
  const since =
    deployment.status === 'running'
      ? deployment.updated_at
      : (deployment.engine_restarted_at ?? deployment.status_changed_at)
  const elapsed = deps.observedTime.between(since, deps.clock())
  return Math.min(Math.max(elapsed / 20, pollDelay.starting), pollDelay.running)
}

/**
 * Restarts a lost engine, or fails the deployment if `planRestart` does. The restart is counted even if the old engine hasn't stopped
 * yet, because the next pass continues with `ensureEngine`, which may no longer report the failure.
 */
async function restartEngine(context: ReconcileContext, failure: DeploymentFailure): Promise<StepResult> {
  const { deployment, deps } = context
  const plan = planRestart(deployment, failure.code, deps.clock())
  if (plan === null) return failDeployment(context, failure)
  const restarting = { for: 'engine', message: `${failure.message} Restarting the engine.` } as const
  const stopping = {
    for: 'stop',
    message: `${failure.message} Stopping the engine before a restart.`,
  } as const
  if (deployment.engine_url !== null) {
    const event = { stage: failure.stage, message: restarting.message }
    const withdrawn = await recordChanges(context, { engine_url: null, waiting: restarting }, event)
    if (withdrawn === undefined) return { next: undefined }
  }
  const hasStopped = await deps.runtime.stopEngine(deployment.id, deployment.cluster_id)
  const waiting = hasStopped ? restarting : stopping
  const event = plan.isNews ? { stage: failure.stage, message: waiting.message } : null
  const next = await recordChanges(context, { ...plan.counts, waiting }, event)
  if (next === undefined) return { next }
  if (!hasStopped) return { waitMilliseconds: pollDelay.stopping }
  if (needsResize(next)) return resizeEngine({ ...context, deployment: next })
  await startEngine({ ...context, deployment: next })
  return { waitMilliseconds: pollDelay.starting }
}
