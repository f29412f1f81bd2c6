import type { DatabaseTransaction } from '../../../database/tables.ts'
import type { EngineFailure, FailureCode } from '../../../ports/engine-failures.ts'
import type { RuntimeEngine } from '../../../ports/runtime-engine.ts'
import { findEngine } from '../../catalog/engine-choice.ts'
import { findBudgetBlock } from '../../billing/budgets/budget-limits.ts'
import type { Start } from '../../billing/budgets/budget-limits.ts'
import { queueAlert } from '../../alerts/queue-alert.ts'
import { findHourlyPrice } from '../../metering/instance-prices.ts'
import type { EventContent } from '../state/change-store.ts'
import { readEngineSpec } from '../serving/engine-spec.ts'
import { requireAnswers } from '../../placement/choose-instance.ts'
import { nameOffer } from '../../placement/offers.ts'
import type { Selection, SelectionResult } from '../../placement/instance-selection.ts'
import { isRecovering } from '../state/recovery.ts'
import {
  chooseHardware,
  explainSelection,
  minimumsOf,
  needsOtherEngine,
  settingsOf,
} from '../state/resize.ts'
import type { Deployment } from '../state/store.ts'
import { askForHardware, callNext, hardwareOf, isOvertaking, wasReleasedSince } from './yielding.ts'
import { failInstance, toAlerted } from './fail.ts'
import { limitCapacity } from './shrink-capacity.ts'
import { reportWaiting } from './report-waiting.ts'
import {
  changeInstance,
  closeSpan,
  moveInstance,
  pollDelay,
  timeInStatus,
  toContext,
  toMetered,
} from './step.ts'
import type { InstanceChange, StepContext, StepResult } from './step.ts'
import type { Instance } from '../state/instance-store.ts'

const pendingTimeout = 60 * 60_000
/** Refusals of hardware that deployments or other programs use */
const takenCodes: ReadonlySet<FailureCode> = new Set(['no_capacity', 'in_use'])
/** How long an instance waits for hardware of other deployments */
const yieldTimeout = 10 * 60_000

/** The step for `requested`: chooses an instance type, or fails if none fits. */
export async function selectInstanceType(context: StepContext): Promise<StepResult> {
  const { deployment, instance, deps } = context
  const result = requireAnswers(await chooseHardware(deps, deployment, instance.offers_refused))
  if (result.outcome === 'infeasible') {
    return failInstance(context, toSelectionFailure(result))
  }
  const next = await moveInstance(
    context,
    { from: 'requested', to: 'provisioning' },
    {
      columns: toColumns(deployment, result.selection),
      event: toSelectionEvent(deployment, result.selection),
    },
  )
  return { next }
}

function toSelectionFailure({
  reason: message,
  isInUse,
}: Extract<SelectionResult, { outcome: 'infeasible' }>): EngineFailure {
  return { stage: 'instance_selection', code: isInUse ? 'in_use' : 'no_feasible_instance', message }
}

function toSelectionEvent(deployment: Deployment, selection: Selection): EventContent {
  const message = explainSelection(deployment.variant_reason, selection)
  return { stage: 'instance_selection', message, instanceType: selection.offer.instanceType }
}

type Selected = NonNullable<InstanceChange['columns']>

function toColumns(deployment: Deployment, selection: Selection): Selected {
  const { offer, sizing, memoryBytes } = selection
  const capacity = limitCapacity(sizing.capacity, deployment.recovery?.most ?? null, minimumsOf(deployment))
  return {
    runtime: offer.runtime.name,
    instance_type: offer.instanceType,
    selection_reason: explainSelection(deployment.variant_reason, selection),
    region: offer.region,
    gpu_count: offer.gpuCount,
    memory_bytes: memoryBytes,
    context_tokens: capacity.contextTokens,
    parallel_sequences: capacity.parallelSequences,
    adapters: deployment.adapters,
    engine_settings: {
      ...settingsOf(deployment),
      engine_version: chooseVersion(deployment, offer.runtime.engines),
    },
    hardware_refused_at: null,
  }
}

/** The version that the owner asks for, or the newest; null for an engine that has no others. */
function chooseVersion(
  { model_format: format, engine_version: asked }: Deployment,
  engines: readonly RuntimeEngine[],
): string | null {
  return asked ?? findEngine({ format }, engines)?.versions?.[0] ?? null
}

/** The step for `provisioning`: allocates the instance, or switches types if the hardware is refused. */
export async function provisionInstance(context: StepContext): Promise<StepResult> {
  const { deployment, instance, deps } = context
  if (needsOtherEngine(deployment, instance)) return resizeEngine(context)
  const exhausted = isStart(context) ? await findExhaustedBudget(context) : null
  if (exhausted !== null) {
    return failInstance(context, { stage: 'provisioning', code: 'budget_exhausted', message: exhausted })
  }
  if (await mustWaitForTurn(context)) return waitForHardware(context, {})
  const spec = await readEngineSpec(deps, deployment, instance)
  const askedAt = deps.clock()
  const result = await deps.runtimes.get(instance.runtime).provision(spec)
  if (result.outcome === 'refused') return tryNextOffer(context, result, askedAt)
  if (result.outcome === 'pending') return waitForInstance(context, result.message)
  const { instance: provided } = result
  const next = await moveInstance(
    context,
    { from: 'provisioning', to: 'deploying' },
    {
      columns: {
        cluster_id: provided.clusterId,
        instance_id: provided.instanceId,
        gpu_allocation_id: provided.gpuAllocationId,
        region: provided.region,
        started_at: provided.startedAt,
        hardware_asked_at: null,
        hardware_refused_at: null,
      },
      event: {
        stage: 'provisioning',
        message: `Instance ${provided.instanceId} (${instance.instance_type}) is ready.`,
      },
      spans: [{ kind: 'open', instance: toMetered(context), hardware: provided, now: deps.clock() }],
    },
  )
  return { next }
}

/** True if a budget may refuse the instance: it neither moves to other hardware nor replaces a lost one. */
function isStart({ deployment, instance }: StepContext): boolean {
  const isReplacement = deployment.ran_at !== null && isRecovering(deployment)
  return instance.ready_at === null && !isReplacement
}

async function findExhaustedBudget(context: StepContext): Promise<string | null> {
  const start = toStart(context)
  const budgets = await context.pass.batches.budgets.add(start.organizationId)
  return findBudgetBlock(context.deps, start, budgets)
}

function toStart({ deployment, instance, deps }: StepContext): Start {
  const { instance_type: instanceType, region } = instance
  const hasPrice = instanceType !== null && region !== null
  return {
    organizationId: deployment.organization_id,
    userId: deployment.user_id,
    deploymentId: deployment.id,
    pricePerHour: hasPrice ? findHourlyPrice(deps.prices, { instanceType, region }, deps.clock()) : null,
  }
}

/** Runtimes normally report refusals themselves; the timeout covers those that never do. */
async function waitForInstance(context: StepContext, message: string): Promise<StepResult> {
  const elapsed = timeInStatus(context)
  if (elapsed > pendingTimeout) {
    return failInstance(context, {
      stage: 'provisioning',
      code: 'provision_timeout',
      message: `No instance became available within one hour. ${message}`,
    })
  }
  await reportWaiting(context, 'provisioning', { for: 'instance', message })
  return { waitMilliseconds: Math.min(Math.max(elapsed / 4, pollDelay.starting), pollDelay.running) }
}

/**
 * Switches to the next fitting type if this one lacks capacity. Otherwise waits for hardware that others give
 * up, or fails the deployment.
 */
async function tryNextOffer(
  context: StepContext,
  refusal: { code: FailureCode; message: string },
  askedAt: Date,
): Promise<StepResult> {
  const { deployment, instance, deps } = context
  const hardware = hardwareOf(instance)
  const refused = [...instance.offers_refused, ...(hardware === null ? [] : [hardware])]
  const isTaken = takenCodes.has(refusal.code)
  const result = isTaken ? await chooseHardware(deps, deployment, refused) : null
  const alert = (transaction: DatabaseTransaction) => alertRefusal(context, refusal, transaction)
  if (result?.outcome === 'selected') {
    const { selection } = result
    const message = `${refusal.message} Trying ${nameOffer(selection.offer)}.`
    const columns = { ...toColumns(deployment, selection), offers_refused: refused }
    const event = { stage: 'provisioning', message }
    return { next: await changeInstance(context, { columns, event, hook: alert }) }
  }
  if (isTaken && (await mayGetHardware(context))) {
    return waitForHardware(context, { hardware_refused_at: deps.clock() })
  }
  // Nobody is left to give hardware up, because somebody just has.
  if (isTaken && hardware !== null && (await wasReleasedSince(deps.db, hardware, askedAt))) {
    return { waitMilliseconds: 0 }
  }
  const { code, message } = refusal
  return failInstance(context, { stage: 'provisioning', code, message }, alert)
}

/** True if other instances are first to try hardware that this one could get. */
async function mustWaitForTurn({ pass, deps, instance }: StepContext): Promise<boolean> {
  if (instance.hardware_asked_at === null && !pass.isHardwareAwaited) return false
  return isOvertaking(deps.db, instance)
}

/** Waits for hardware that others give up, in a line with the others that wait. */
async function waitForHardware(
  context: StepContext,
  refused: Pick<Partial<Instance>, 'hardware_refused_at'>,
): Promise<StepResult> {
  const { instance, deps, pass } = context
  const isRefused = refused.hardware_refused_at !== undefined && instance.hardware_refused_at === null
  if (instance.hardware_asked_at !== null && !isRefused) {
    if (timeAsking(context) < yieldTimeout) {
      return waitForInstance(context, 'Waiting until another deployment has given up its hardware.')
    }
    const message = 'No other deployment gave up enough hardware within ten minutes.'
    return failInstance(context, { stage: 'provisioning', code: 'no_capacity', message })
  }
  const columns = { hardware_asked_at: instance.hardware_asked_at ?? deps.clock(), ...refused }
  const asked = await changeInstance(context, { columns })
  if (asked === undefined) return { next: undefined }
  const hardware = hardwareOf(instance)
  if (isRefused && hardware !== null) await callNext(deps.db, hardware)
  return waitForHardware(toContext(pass, asked), {})
}

/** For how many milliseconds the instance has waited for hardware of others */
function timeAsking({ instance, deps }: StepContext): number {
  const { hardware_asked_at: askedAt } = instance
  return askedAt === null ? 0 : deps.observedTime.between(askedAt, deps.clock())
}

/** True if another deployment gives up its hardware for this one, which has none yet. */
async function mayGetHardware(context: StepContext): Promise<boolean> {
  const { pass, deps, deployment, instance } = context
  const others = pass.instances.filter(({ id, status }) => id !== instance.id && status !== 'releasing')
  const hardware = hardwareOf(instance)
  if (hardware === null || others.length > 0) return false
  return askForHardware(deps, deployment.id, hardware, timeAsking(context))
}

/** Alerts to capacity that the runtime refused; other refusals only fail the deployment. */
async function alertRefusal(
  { deps, deployment, instance }: StepContext,
  { code, message }: { code: FailureCode; message: string },
  transaction: DatabaseTransaction,
): Promise<void> {
  if (!takenCodes.has(code) && code !== 'quota_exceeded') return
  const data = {
    ...toAlerted(deployment),
    instance_type: instance.instance_type,
    reason: `${code}: ${message}`,
  }
  await queueAlert(deps, transaction, deployment.organization_id, { type: 'capacity.refused', data })
}

/** Releases hardware that can't serve the owner's request, and chooses other. It must not be serving. */
export async function resizeEngine(context: StepContext): Promise<StepResult> {
  const { deployment, instance, deps } = context
  const { status } = instance
  if (status !== 'provisioning' && status !== 'deploying' && status !== 'running') {
    throw new Error(`an instance that is ${status} has no engine to resize`)
  }
  const result = requireAnswers(await chooseHardware(deps, deployment, instance.offers_refused))
  if (!(await deps.runtimes.get(instance.runtime).release(instance.id, instance.cluster_id))) {
    await reportWaiting(context, 'provisioning', { for: 'release' })
    return { waitMilliseconds: pollDelay.stopping }
  }
  if (result.outcome === 'infeasible') {
    return failInstance(context, toSelectionFailure(result))
  }
  const chosen = toSelectionEvent(deployment, result.selection)
  const change = {
    columns: { ...toColumns(deployment, result.selection), ...withoutHardware },
    waiting: null,
    event: { ...chosen, message: `Resizing the engine. ${chosen.message}` },
  }
  if (status === 'provisioning') return { next: await changeInstance(context, change) }
  const spans = [closeSpan(context, deps.clock())]
  return { next: await moveInstance(context, { from: status, to: 'provisioning' }, { ...change, spans }) }
}

const withoutHardware = {
  cluster_id: null,
  instance_id: null,
  gpu_allocation_id: null,
  started_at: null,
  lost_at: null,
  engine_url: null,
  engine: null,
} satisfies Partial<Instance>
