import type { DatabaseTransaction } from '../../../database/tables.ts'
import type { FailureCode } from '../../../ports/model-runtime.ts'
import { findBudgetBlock } from '../../billing/budgets/budget-limits.ts'
import type { Start } from '../../billing/budgets/budget-limits.ts'
import { parseStoredVariant } from '../../catalog/stored-model.ts'
import { queueAlert } from '../../mail/alerts/queue-alert.ts'
import { findHourlyPrice } from '../../metering/instance-prices.ts'
import { closeInstanceSpan, openInstanceSpan } from '../../metering/spans.ts'
import { transitionDeployment } from '../change-store.ts'
import type { DeploymentChanges, EventContent } from '../change-store.ts'
import { chooseInstance } from '../../placement/choose-instance.ts'
import { readEngineSpec } from '../engine-spec.ts'
import type { Selection } from '../../placement/instance-selection.ts'
import { needsResize, toMinimums } from '../resize.ts'
import type { Deployment } from '../store.ts'
import { failDeployment, pollDelay, recordChanges, reportWaiting, timeInStatus, toAlerted } from './step.ts'
import type { ReconcileContext, StepResult } from './step.ts'

const pendingTimeout = 60 * 60_000

/** The step for `requested`: chooses an instance type, or fails if none fits. */
export async function selectInstanceType(context: ReconcileContext): Promise<StepResult> {
  const { deployment, lease, deps } = context
  const result = await chooseInstance(
    deps,
    parseStoredVariant(deployment),
    toMinimums(deployment),
    deployment.offers_refused,
  )
  if (result.outcome === 'infeasible') {
    return failDeployment(context, {
      stage: 'instance_selection',
      code: 'no_feasible_instance',
      message: result.reason,
    })
  }
  const next = await transitionDeployment(
    deps.db,
    { id: deployment.id, from: 'requested', to: 'provisioning', lease, at: deps.clock() },
    toColumns(deployment, result.selection),
    toSelectionEvent(deployment, result.selection),
  )
  return { next }
}

function toSelectionEvent(deployment: Deployment, selection: Selection): EventContent {
  const message = explainSelection(deployment, selection)
  return { stage: 'instance_selection', message, instanceType: selection.offer.instanceType }
}

/** Why Berth chose the variant, if it did, and the instance type. */
function explainSelection({ variant_reason }: Deployment, { reason }: Selection): string {
  return `${variant_reason ?? ''} ${reason}`.trimStart()
}

function toColumns(deployment: Deployment, selection: Selection): DeploymentChanges {
  const { offer, sizing, memoryBytes } = selection
  const { capacity } = sizing
  return {
    selected_instance_type: offer.instanceType,
    selection_reason: explainSelection(deployment, selection),
    region: offer.region,
    gpu_count: offer.gpuCount,
    memory_bytes: memoryBytes,
    context_tokens: capacity.contextTokens,
    parallel_sequences: capacity.parallelSequences,
  }
}

/** The step for `provisioning`: allocates the instance, or switches to the next type that fits if it is refused. */
export async function provisionInstance(context: ReconcileContext): Promise<StepResult> {
  const { deployment, lease, deps } = context
  if (needsResize(deployment)) return resizeEngine(context)
  const exhausted = isStart(deployment) ? await findBudgetBlock(deps, toStart(context)) : null
  if (exhausted !== null) {
    return failDeployment(context, { stage: 'provisioning', code: 'budget_exhausted', message: exhausted })
  }
  const result = await deps.runtime.provision(await readEngineSpec(deps, deployment))
  if (result.outcome === 'refused') return tryNextOffer(context, result)
  if (result.outcome === 'pending') return waitForInstance(context, result.message)
  const { instance } = result
  const at = deps.clock()
  const next = await transitionDeployment(
    deps.db,
    { id: deployment.id, from: 'provisioning', to: 'deploying', lease, at },
    {
      cluster_id: instance.clusterId,
      instance_id: instance.instanceId,
      gpu_allocation_id: instance.gpuAllocationId,
      region: instance.region,
      instance_started_at: instance.startedAt,
    },
    {
      stage: 'provisioning',
      message: `Instance ${instance.instanceId} (${deployment.selected_instance_type}) is ready.`,
    },
    (transaction) => openInstanceSpan(transaction, deployment, instance, at),
  )
  return { next }
}

/** True if a budget may refuse the instance: a deployment that has served only moves to another one. */
function isStart({ ran_at: ranAt }: Deployment): boolean {
  return ranAt === null
}

function toStart({ deployment, deps }: ReconcileContext): Start {
  const { selected_instance_type: instanceType, region } = deployment
  const hasPrice = instanceType !== null && region !== null
  return {
    organizationId: deployment.organization_id,
    userId: deployment.user_id,
    deploymentId: deployment.id,
    pricePerHour: hasPrice ? findHourlyPrice(deps.prices, { instanceType, region }, deps.clock()) : null,
  }
}

/** Runtimes normally report refusals themselves; the timeout covers those that never do. */
async function waitForInstance(context: ReconcileContext, message: string): Promise<StepResult> {
  const elapsed = timeInStatus(context)
  if (elapsed > pendingTimeout) {
    return failDeployment(context, {
      stage: 'provisioning',
      code: 'provision_timeout',
      message: `No instance became available within one hour. ${message}`,
    })
  }
  await reportWaiting(context, 'provisioning', { for: 'instance', message })
  return { waitMilliseconds: Math.min(Math.max(elapsed / 4, pollDelay.starting), pollDelay.running) }
}

/** Switches to the next instance type that fits if the first one lacked capacity. Otherwise fails the deployment. */
async function tryNextOffer(
  context: ReconcileContext,
  refusal: { code: FailureCode; message: string },
): Promise<StepResult> {
  const { deployment, deps } = context
  const refused = [...deployment.offers_refused, deployment.selected_instance_type ?? '']
  const result =
    refusal.code === 'no_capacity'
      ? await chooseInstance(deps, parseStoredVariant(deployment), toMinimums(deployment), refused)
      : null
  const alert = (transaction: DatabaseTransaction) => alertRefusal(context, refusal, transaction)
  if (result?.outcome !== 'selected') {
    const { code, message } = refusal
    return failDeployment(context, { stage: 'provisioning', code, message }, alert)
  }
  const { selection } = result
  const message = `${refusal.message} Trying ${selection.offer.instanceType}.`
  const changes = { ...toColumns(deployment, selection), offers_refused: refused }
  return { next: await recordChanges(context, changes, { stage: 'provisioning', message }, alert) }
}

/** Alerts to capacity that the runtime refused; other refusals only fail the deployment. */
async function alertRefusal(
  { deps, deployment }: ReconcileContext,
  { code, message }: { code: FailureCode; message: string },
  transaction: DatabaseTransaction,
): Promise<void> {
  if (code !== 'no_capacity' && code !== 'quota_exceeded') return
  const data = {
    ...toAlerted(deployment),
    instance_type: deployment.selected_instance_type,
    reason: `${code}: ${message}`,
  }
  await queueAlert(deps, transaction, deployment.organization_id, { type: 'capacity.refused', data })
}

/**
 * Releases the instance of a deployment whose owner asks for more than it can serve, and chooses a larger one. The deployment must not
 * be serving.
 */
export async function resizeEngine(context: ReconcileContext): Promise<StepResult> {
  const { deployment, deps, lease } = context
  const { status } = deployment
  if (status !== 'provisioning' && status !== 'deploying' && status !== 'running') {
    throw new Error(`a deployment that is ${status} has no engine to resize`)
  }
  const result = await chooseInstance(
    deps,
    parseStoredVariant(deployment),
    toMinimums(deployment),
    deployment.offers_refused,
  )
  if (!(await deps.runtime.release(deployment.id, deployment.cluster_id))) {
    await reportWaiting(context, 'provisioning', { for: 'release' })
    return { waitMilliseconds: pollDelay.stopping }
  }
  if (result.outcome === 'infeasible') {
    return failDeployment(context, {
      stage: 'instance_selection',
      code: 'no_feasible_instance',
      message: result.reason,
    })
  }
  const chosen = toSelectionEvent(deployment, result.selection)
  const changes = { ...toColumns(deployment, result.selection), ...withoutInstance, waiting: null }
  const event = { ...chosen, message: `Resizing the engine. ${chosen.message}` }
  if (status === 'provisioning') return { next: await recordChanges(context, changes, event) }
  const at = deps.clock()
  const next = await transitionDeployment(
    deps.db,
    { id: deployment.id, from: status, to: 'provisioning', lease, at },
    changes,
    event,
    (transaction) => closeInstanceSpan(transaction, deployment, at),
  )
  return { next }
}

const withoutInstance = {
  cluster_id: null,
  instance_id: null,
  gpu_allocation_id: null,
  instance_started_at: null,
  instance_released_at: null,
  engine_url: null,
  engine: null,
} satisfies Partial<Deployment>
