import type { EngineFailure, FailureStage } from '../../../ports/engine-failures.ts'
import type { EngineObservation, LossTime } from '../../../ports/model-runtime.ts'
import { queueAlert } from '../../alerts/queue-alert.ts'
import { findEngine } from '../../catalog/engine-choice.ts'
import { parseStoredVariant } from '../../catalog/stored-model.ts'
import { readEngineSpec } from '../serving/engine-spec.ts'
import type { EventContent } from '../state/change-store.ts'
import { endOutage, findPause } from '../state/recovery.ts'
import { needsOtherEngine } from '../state/resize.ts'
import type { ServingEngine } from '../state/tables.ts'
import { failInstance, toAlerted } from './fail.ts'
import { resizeEngine } from './provision.ts'
import { planReplacement, recordLoss } from './replacement.ts'
import { isEpisodeOver } from './recovery.ts'
import { reportWaiting } from './report-waiting.ts'
import { describeWaiting } from '../state/waiting.ts'
import type { Waiting } from '../state/waiting.ts'
import { measureStart } from './measure-transition.ts'
import { changeInstance, moveInstance, pollDelay, toContext, toMetered } from './step.ts'
import type { StepContext, StepResult } from './step.ts'

/** An instance waits so long for an unreachable runtime before its first start; a running one, forever. */
const unreachableTimeout = 10 * 60_000

/** The step for `deploying`: starts the engine and waits until it is ready. */
export async function ensureReady(context: StepContext): Promise<StepResult> {
  const { deployment, instance, deps } = context
  if (instance.waiting_for === 'stop') return restartEngine(context)
  if (needsOtherEngine(deployment, instance)) return resizeEngine(context)
  const engine = await startEngine(context)
  if (engine.phase !== 'ready') return handleNotReady(context, engine)
  const at = deps.clock()
  const replacement = planReplacement(context, engine.instance, at)
  const event = await describeReady(context, at)
  const next = await moveInstance(
    context,
    { from: 'deploying', to: 'running' },
    {
      columns: {
        ...replacement?.columns,
        engine_url: engine.endpoint.baseUrl,
        engine: describeEngine(context),
        ready_at: instance.ready_at ?? at,
        unreachable_since: null,
      },
      deployment: {
        ran_at: deployment.ran_at ?? at,
        served_settings: instance.engine_settings,
        refusal: null,
        refusals: 0,
        // A first start leaves no outage behind.
        recovery: deployment.ran_at === null ? null : endOutage(context.pass.deployment.recovery, at),
      },
      event,
      spans: [...(replacement?.spans ?? []), { kind: 'confirm', instance: toMetered(context), now: at }],
    },
  )
  return { next }
}

/** Starts the engine if it is missing, and returns its state. */
async function startEngine({ deployment, instance, deps }: StepContext): Promise<EngineObservation> {
  return deps.runtimes.get(instance.runtime).ensureEngine(await readEngineSpec(deps, deployment, instance))
}

/** The column `engine` for an engine that has become ready; null if the runtime doesn't say which it is. */
function describeEngine({ deployment, instance, deps }: StepContext): ServingEngine | null {
  const { engines } = deps.runtimes.get(instance.runtime)
  const engine = findEngine(parseStoredVariant(deployment), engines)
  if (engine === undefined || engine.name === null) return null
  const chosen = instance.engine_settings?.engine_version
  const version = engine.versions?.find((each) => each === chosen) ?? engine.version
  return { name: engine.name, version }
}

/** A further instance of a deployment that serves already ends no start. */
async function describeReady({ pass }: StepContext, at: Date): Promise<EventContent> {
  const { id, status, ran_at: ranAt } = pass.deployment
  if (status === 'running') return { stage: null, message: 'The model is ready for requests.' }
  const transition = measureStart(await pass.batches.startEvents.add(id), at, ranAt !== null)
  return { stage: null, message: '', transition }
}

/** The step for `running`: checks the engine and restarts it if it was lost. */
export async function ensureRunning(context: StepContext): Promise<StepResult> {
  const { instance, deps } = context
  if (instance.waiting_for === 'stop') return restartEngine(context)
  const engine =
    instance.engine_url === null
      ? await startEngine(context)
      : await deps.runtimes.get(instance.runtime).observeEngine(instance.id, instance.cluster_id)
  if (engine.phase !== 'ready') return handleNotReady(context, engine)
  const { baseUrl } = engine.endpoint
  const at = deps.clock()
  const replacement = planReplacement(context, engine.instance, at)
  if (replacement !== null || instance.engine_url !== baseUrl || instance.waiting_for !== null) {
    // Only a new engine has the version that the runtime starts now.
    const started = instance.engine_url === null ? { engine: describeEngine(context) } : {}
    const again = 'The model is ready for requests again.'
    await changeInstance(context, {
      columns: { ...replacement?.columns, ...started, engine_url: baseUrl, unreachable_since: null },
      waiting: null,
      deployment: { recovery: endOutage(context.pass.deployment.recovery, at) },
      event: { stage: 'runtime', message: `${replacement?.reason ?? ''} ${again}`.trim() },
      spans: [...(replacement?.spans ?? []), { kind: 'confirm', instance: toMetered(context), now: at }],
    })
  }
  await endEpisode(context, at)
  return { waitMilliseconds: context.pass.checkInterval }
}

async function handleNotReady(
  context: StepContext,
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

/** An engine was lost. If its instance was lost with it, the instance's billing ends at that time. */
async function handleLoss(
  context: StepContext,
  failure: EngineFailure & { lostAt?: LossTime },
): Promise<StepResult> {
  const instance = await recordLoss(context, failure.lostAt)
  return instance === undefined
    ? { next: undefined }
    : failInstance(toContext(context.pass, instance), failure)
}

/** Waits for an engine that starts. If it served before and was lost, its billing ends at that time. */
async function handleStart(
  context: StepContext,
  engine: Extract<EngineObservation, { phase: 'downloading' | 'starting' }>,
): Promise<StepResult> {
  const isLost = engine.phase === 'starting' && context.instance.engine_url !== null
  const instance = await recordLoss(context, isLost ? engine.lostAt : undefined)
  if (instance === undefined) return { next: undefined }
  const next = toContext(context.pass, instance)
  const waiting = { for: 'engine', message: engine.message } as const
  return engine.phase === 'downloading'
    ? waitForStart(next, 'model_download', { ...waiting, progress: getProgress(engine) })
    : waitForStart(next, 'engine_startup', waiting)
}

/** A running instance's engine may restart by itself. The gateway answers 503 without an `engine_url`. */
async function waitForStart(
  context: StepContext,
  stage: FailureStage,
  waiting: Waiting,
): Promise<StepResult> {
  if (context.instance.engine_url !== null) {
    const event = { stage, message: describeWaiting(waiting) }
    return { next: await changeInstance(context, { columns: { engine_url: null }, waiting, event }) }
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

/** A running instance stays `running`, because its engine may still serve; others fail after the timeout. */
async function waitForRuntime(context: StepContext, message: string): Promise<StepResult> {
  const now = context.deps.clock()
  const { status, unreachable_since: since } = context.instance
  if (since === null) {
    const instance = await changeInstance(context, { columns: { unreachable_since: now } })
    return instance === undefined
      ? { next: undefined }
      : waitForRuntime(toContext(context.pass, instance), message)
  }
  if (status === 'deploying' && context.deps.observedTime.between(since, now) > unreachableTimeout) {
    return failInstance(context, { stage: 'engine_startup', code: 'engine_unreachable', message })
  }
  const stage = status === 'deploying' ? 'engine_startup' : 'runtime'
  await reportWaiting(context, stage, { for: 'runtime', message })
  return { waitMilliseconds: pollDelay.running }
}

/** Polls often at first, then less often the longer the start takes. */
function getStartDelay({ instance, deps }: StepContext): number {
  const since =
    instance.status === 'running'
      ? instance.updated_at
      : (instance.engine_restarted_at ?? instance.status_changed_at)
  const elapsed = deps.observedTime.between(since, deps.clock())
  return Math.min(Math.max(elapsed / 20, pollDelay.starting), pollDelay.running)
}

/** Stops what is left of a lost engine, and starts it again after the pause before the next attempt. */
async function restartEngine(context: StepContext): Promise<StepResult> {
  const { instance, deps, pass } = context
  if (!(await deps.runtimes.get(instance.runtime).stopEngine(instance.id, instance.cluster_id))) {
    return { waitMilliseconds: pollDelay.stopping }
  }
  const now = deps.clock()
  const pause = findPause(pass.deployment.recovery, now)
  if (pause > 0) return { waitMilliseconds: pause }
  const next = await changeInstance(context, {
    columns: { engine_restarted_at: now },
    waiting: { for: 'engine', message: 'Restarting the engine.' },
  })
  if (next === undefined) return { next }
  const restarted = toContext(pass, next)
  if (needsOtherEngine(restarted.deployment, next)) return resizeEngine(restarted)
  await startEngine(restarted)
  return { waitMilliseconds: pollDelay.starting }
}

/** Ends an episode of failures after ten minutes without one. */
async function endEpisode(context: StepContext, at: Date): Promise<void> {
  const { deployment, instances } = context.pass
  const { recovery } = deployment
  if (recovery === null || !isEpisodeOver(recovery, at)) return
  // The steps of other instances run at the same time.
  if (instances.find(({ status }) => status === 'running')?.id !== context.instance.id) return
  await changeInstance(context, {
    deployment: { recovery: null },
    async hook(transaction) {
      const data = { ...toAlerted(deployment), lost_at: recovery.since, served_at: recovery.served_at }
      await queueAlert(context.deps, transaction, deployment.organization_id, {
        type: 'deployment.recovered',
        data,
      })
    },
  })
}
