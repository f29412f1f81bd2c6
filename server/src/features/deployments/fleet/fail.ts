import type { DatabaseTransaction } from '../../../database/tables.ts'
import type { EngineFailure, FailureCode } from '../../../ports/engine-failures.ts'
import type { ServingCapacity } from '../../../ports/runtime-engine.ts'
import { queueAlert } from '../../alerts/queue-alert.ts'
import { addRefusal } from '../changes/refusal.ts'
import { beginTransition } from '../state/event-transition.ts'
import { describeNextAttempt, isRecovering } from '../state/recovery.ts'
import { differOnlyInVersion, findServedSettings, minimumsOf, settingsOf } from '../state/resize.ts'
import type { Deployment } from '../state/store.ts'
import type { EngineSettings } from '../state/tables.ts'
import { describeCapacity, shrinkCapacity } from './shrink-capacity.ts'
import { planAttempt } from './recovery.ts'
import type { Attempt } from './recovery.ts'
import { changeInstance, moveInstance } from './step.ts'
import type { InstanceChange, StepContext, StepResult } from './step.ts'

type AlertHook = (transaction: DatabaseTransaction) => Promise<void>

/** Refusals of hardware, after which a woken deployment sleeps on */
const refusalCodes: ReadonlySet<FailureCode> = new Set([
  'no_capacity',
  'in_use',
  'quota_exceeded',
  'budget_exhausted',
  'provision_timeout',
])

/** Failures after which the same engine may start again */
const lossCodes: ReadonlySet<FailureCode> = new Set(['engine_crashed', 'engine_unreachable', 'instance_lost'])

/** Beside other instances, an engine restarts at once only if its last restart is so long ago. */
const restartWindow = 10 * 60_000

/**
 * Decides what follows when an instance can't serve, for every cause: no other place does. Beside other
 * instances, it restarts once or is given up. A deployment that served with other settings gets them back. A
 * woken one without hardware sleeps on. One that has served is started again (`planAttempt`); only a first
 * start fails. `alert` tells the cause, unless the last failure had the same.
 */
export async function failInstance(
  context: StepContext,
  failure: EngineFailure,
  alert?: AlertHook,
): Promise<StepResult> {
  const { deps, instance, pass } = context
  const { deployment } = pass
  // The attempts of an outage may all fail for the same reason.
  const alsoAlert = deployment.recovery?.cause.code === failure.code ? undefined : alert
  if (deployment.desired_state !== 'awake') return release(context, { event: failure })
  const others = pass.instances.filter(({ id, status }) => id !== instance.id && status !== 'releasing')
  const served = findServedSettings(deployment, instance)
  const isRefusal = refusalCodes.has(failure.code)
  if (others.length > 0) {
    if (mayRestart(context, failure)) return restartBesideOthers(context, failure)
    if (served !== null && !isRefusal) return takeBack(context, failure, served, alsoAlert)
    return giveUpBesideOthers(context, failure, others.length, alsoAlert)
  }
  const attempt = planAttempt(deployment.recovery, failure, deps.clock(), deployment.ran_at !== null)
  const restarts = attempt.outcome === 'retry' && attempt.isNew && hasEngine(context, failure)
  // Hardware that is refused says nothing about a version.
  const isSameAsk = served !== null && differOnlyInVersion(served, settingsOf(deployment))
  const mayTakeBack =
    failure.code !== 'budget_exhausted' &&
    !(restarts && lossCodes.has(failure.code)) &&
    !(isRefusal && isSameAsk)
  if (served !== null && mayTakeBack) return takeBack(context, failure, served, alsoAlert)
  if (sleepsOn(context, failure)) return sleepOn(context, failure, alsoAlert)
  switch (attempt.outcome) {
    case 'retry':
      return tryAgain(context, failure, attempt, alsoAlert)
    case 'sleep':
      return fallAsleep(context, failure, attempt, alsoAlert)
    case 'fail':
      return failDeployment(context, failure, alsoAlert)
  }
}

/** What alerts say about a deployment. */
export function toAlerted({ id, user_id: userId, model_name: modelName }: Deployment) {
  return { deployment_id: id, user_id: userId, model_name: modelName }
}

/** Gives the instance back. */
async function release(
  context: StepContext,
  change: Pick<InstanceChange, 'deployment' | 'event' | 'hook'>,
): Promise<StepResult> {
  const { status: from } = context.instance
  if (from === 'releasing' || from === 'released') throw new Error(`an instance that is ${from} can't fail`)
  return {
    next: await moveInstance(
      context,
      { from, to: 'releasing' },
      { columns: { engine_url: null }, ...change },
    ),
  }
}

/** True if the instance has an engine that can start again in place. */
function hasEngine({ instance: { status } }: StepContext, { stage }: EngineFailure): boolean {
  return (status === 'deploying' || status === 'running') && stage !== 'instance_selection'
}

function mayRestart(context: StepContext, failure: EngineFailure): boolean {
  if (!hasEngine(context, failure) || !lossCodes.has(failure.code)) return false
  const { deps, instance } = context
  const { engine_restarted_at: restartedAt } = instance
  return restartedAt === null || deps.clock().getTime() - restartedAt.getTime() >= restartWindow
}

async function restartBesideOthers(context: StepContext, { stage, message }: EngineFailure) {
  const sentences = `${message} Restarting the engine.`
  const next = await changeInstance(context, {
    columns: { engine_url: null, engine_restarted_at: context.deps.clock() },
    waiting: { for: 'stop', message: sentences },
    event: { stage, message: sentences },
  })
  return { next }
}

/** The settings with which the deployment served last replace those with which no engine starts. */
function takeBack(
  context: StepContext,
  { stage, message }: EngineFailure,
  served: EngineSettings,
  hook: AlertHook | undefined,
): Promise<StepResult> {
  const sentences = `${message} The deployment has the settings again with which it served last.`
  const { instance, pass } = context
  // Only a version that failed ends the choice of the newest one.
  const hasServedVersion = instance.engine_settings?.engine_version === served.engine_version
  const version = hasServedVersion ? pass.deployment.engine_version : served.engine_version
  const settings = { ...served, engine_version: version }
  return release(context, { deployment: settings, event: { stage, message: sentences }, hook })
}

/** The autoscaler asks for another instance later. */
function giveUpBesideOthers(
  context: StepContext,
  { stage, code, message }: EngineFailure,
  others: number,
  hook: AlertHook | undefined,
): Promise<StepResult> {
  const { pass, deps } = context
  const isFirst = pass.deployment.refusals === 0
  const refused = addRefusal(pass.deployment, { code, message }, deps.clock())
  return release(context, {
    deployment: { desired_instances: others, ...refused },
    event: isFirst ? { stage, message: `${message} The other instances go on.` } : null,
    hook: isFirst ? hook : undefined,
  })
}

/** True for a wake that found no hardware, and for a budget that allows no further attempt. */
function sleepsOn({ pass: { deployment }, instance }: StepContext, { code }: EngineFailure): boolean {
  if (deployment.ran_at === null) return false
  if (code === 'budget_exhausted') return true
  const isWake = deployment.woken_at !== null && !isRecovering(deployment)
  return isWake && refusalCodes.has(code) && instance.started_at === null && instance.ready_at === null
}

function sleepOn(
  context: StepContext,
  { stage, code, message }: EngineFailure,
  hook: AlertHook | undefined,
): Promise<StepResult> {
  const at = context.deps.clock()
  const event = {
    stage,
    message: `${message} The deployment sleeps on.`,
    transition: beginTransition('sleep', { cause: 'refusal' }, null, at),
  }
  const { recovery } = context.pass.deployment
  const refused = addRefusal(context.pass.deployment, { code, message }, at)
  const asleep = { desired_state: 'asleep', recovery: recovery && { ...recovery, next_at: null } } as const
  return release(context, { deployment: { ...asleep, ...refused }, event, hook })
}

/** Starts the engine again in place, or another instance after a long pause. */
async function tryAgain(
  context: StepContext,
  failure: EngineFailure,
  { recovery: planned, isNew, keepsHardware }: Extract<Attempt, { outcome: 'retry' }>,
  alsoAlert: AlertHook | undefined,
): Promise<StepResult> {
  const { stage } = failure
  const most = failure.code === 'out_of_memory' ? findSmaller(context) : null
  const recovery = most === null ? planned : { ...planned, most }
  const message = most === null ? failure.message : `${failure.message} ${describeCapacity(most)}`
  const staysInPlace = keepsHardware && hasEngine(context, failure)
  const follows =
    recovery.attempts > 1
      ? describeNextAttempt(recovery)
      : staysInPlace
        ? 'Restarting the engine.'
        : 'Starting another instance.'
  const change = {
    deployment: { recovery, desired_instances: 1 },
    event: { stage, message: `${message} ${follows}` },
    async hook(transaction: DatabaseTransaction) {
      await alsoAlert?.(transaction)
      if (isNew && context.deployment.ran_at !== null) await alertLoss(context, failure, transaction)
    },
  }
  if (!staysInPlace) return release(context, change)
  const smaller = most && { context_tokens: most.contextTokens, parallel_sequences: most.parallelSequences }
  const columns = { engine_url: null, ...smaller }
  return {
    next: await changeInstance(context, { ...change, columns, waiting: { for: 'stop', message: follows } }),
  }
}

/** A smaller capacity for an engine that ran out of memory; null if its owner asks for what it has. */
function findSmaller({ instance, pass }: StepContext): ServingCapacity | null {
  const { context_tokens: contextTokens, parallel_sequences: parallelSequences } = instance
  if (contextTokens === null || parallelSequences === null) return null
  return shrinkCapacity({ contextTokens, parallelSequences }, minimumsOf(pass.deployment))
}

function fallAsleep(
  context: StepContext,
  { message }: EngineFailure,
  { recovery }: Extract<Attempt, { outcome: 'sleep' }>,
  hook: AlertHook | undefined,
): Promise<StepResult> {
  const event = {
    stage: 'sleep',
    message: `${message} The deployment sleeps until it is woken.`,
    transition: beginTransition('sleep', { cause: 'failure' }, null, context.deps.clock()),
  }
  return release(context, { deployment: { desired_state: 'asleep', recovery }, event, hook })
}

function failDeployment(
  context: StepContext,
  { stage, code, message }: EngineFailure,
  alsoAlert: AlertHook | undefined,
): Promise<StepResult> {
  const { deps, deployment } = context
  const reason = `${code}: ${message}`
  const failed = { failure_stage: stage, failure_reason: reason }
  return release(context, {
    deployment: { ...failed, recovery: null },
    event: { stage, message: reason },
    async hook(transaction) {
      await alsoAlert?.(transaction)
      const data = { ...toAlerted(deployment), ...failed }
      await queueAlert(deps, transaction, deployment.organization_id, { type: 'deployment.failed', data })
    },
  })
}

async function alertLoss(
  { deps, deployment }: StepContext,
  { code, message }: EngineFailure,
  transaction: DatabaseTransaction,
): Promise<void> {
  const data = { ...toAlerted(deployment), reason: `${code}: ${message}` }
  await queueAlert(deps, transaction, deployment.organization_id, { type: 'deployment.lost', data })
}
