import type { Application } from '../../application.ts'
import type { EngineObservation, FailureCode, FailureStage } from '../../ports/model-runtime.ts'
import { closeInstanceSpan, confirmInstanceSpan, openInstanceSpan } from '../metering/spans.ts'
import { chooseInstance } from './choose-instance.ts'
import { toEngineSpec } from './engine-spec.ts'
import type { Selection } from './instance-selection.ts'
import { returnLease } from './leases.ts'
import type { DeploymentStatus } from './lifecycle.ts'
import { findDeployment, findLastEvent, moveDeployment, updateDeployment } from './store.ts'
import type { Deployment, DeploymentChanges, EventText, Lease } from './store.ts'

type World = Pick<Application, 'db' | 'clock' | 'log' | 'runtime' | 'config' | 'prices' | 'secretKey'>

const second = 1_000
const minute = 60 * second

/** A fault's own text may name inner workings: the log has it, the deployment's owner gets this. */
const runtimeFault = 'The runtime did not do what it was asked.'

const pause = { starting: 500, stopping: 250, running: 5 * second }
const provisioningDeadline = 10 * minute
const pendingDeadline = 60 * minute
/** A start waits so long for a runtime that is out of reach; what has run already waits for ever. */
const unreachableDeadline = 10 * minute
const restartWindow = 10 * minute
const restartsInWindow = 3

/** Failures that starting the engine again may mend. */
const passing: ReadonlySet<FailureCode> = new Set(['engine_crashed', 'engine_unreachable', 'instance_lost'])

/** One look at a deployment under a lease. */
interface Look {
  world: World
  deployment: Deployment
  lease: Lease
  /** Milliseconds until a deployment that runs is looked at again */
  runningPause: number
}

/**
 * What a step answers: when to look next, or the row that the next step is taken on at once; undefined is a row that somebody else
 * has changed.
 */
type Taken = { waitMilliseconds: number | null } | { next: Deployment | undefined }
type Step = (look: Look) => Promise<Taken>

/**
 * Brings a deployment towards what its status asks for, one step after the other, until there is something to wait for, and
 * gives the lease back. It takes no word for what changed: it reads the row and asks the runtime. One that runs is looked at again
 * after `runningPause` milliseconds.
 */
export async function reconcileDeployment(
  world: World,
  leased: Deployment,
  runningPause: number = pause.running,
): Promise<void> {
  const lease: Lease = { deploymentId: leased.id, number: leased.lease_number }
  let deployment = leased
  for (;;) {
    const taken = await take({ world, deployment, lease, runningPause })
    if ('waitMilliseconds' in taken) {
      const seen = { status: deployment.status, reconcileAt: deployment.reconcile_at }
      return returnLease(world.db, lease, seen, taken.waitMilliseconds)
    }
    const next = taken.next ?? (await findDeployment(world.db, leased.id))
    if (next === undefined || next.lease_number !== lease.number) return
    deployment = next
  }
}

async function take(look: Look): Promise<Taken> {
  const { world, deployment } = look
  try {
    return await steps[deployment.status](look)
  } catch (error) {
    world.log.warn(
      { err: error, deployment: deployment.id, status: deployment.status },
      'a step failed, trying again',
    )
    return tryAgain(look)
  }
}

const steps: Record<DeploymentStatus, Step> = {
  requested: selectForDeployment,
  provisioning: provision,
  deploying: bringUp,
  running: keepUp,
  failed: giveBack,
  terminating: terminate,
  terminated: async () => ({ waitMilliseconds: null }),
}

async function selectForDeployment(look: Look): Promise<Taken> {
  const { deployment, lease, world } = look
  const result = await chooseInstance(world, deployment.variant, deployment.offers_refused)
  if (result.outcome === 'infeasible') {
    return fail(look, { stage: 'instance_selection', code: 'no_feasible_instance', message: result.reason })
  }
  const next = await moveDeployment(
    world.db,
    { id: deployment.id, from: 'requested', to: 'provisioning', lease, at: world.clock() },
    toColumns(result.selection),
    { stage: 'instance_selection', message: result.selection.reason },
  )
  return { next }
}

function toColumns({ offer, serving, memoryBytes, reason }: Selection): DeploymentChanges {
  return {
    selected_instance_type: offer.instanceType,
    selection_reason: reason,
    region: offer.region,
    gpu_count: offer.gpuCount,
    memory_bytes: memoryBytes,
    context_tokens: serving.contextTokens,
    parallel_sequences: serving.parallelSequences,
  }
}

async function provision(look: Look): Promise<Taken> {
  const { deployment, lease, world } = look
  const provisioning = await world.runtime.provision(toEngineSpec(deployment, world.secretKey))
  if (provisioning.outcome === 'refused') return tryNextOffer(look, provisioning)
  if (provisioning.outcome === 'pending') return waitForInstance(look, provisioning.message)
  const { instance } = provisioning
  const at = world.clock()
  const next = await moveDeployment(
    world.db,
    { id: deployment.id, from: 'provisioning', to: 'deploying', lease, at },
    {
      status_message: null,
      cluster_id: instance.clusterId,
      instance_id: instance.instanceId,
      gpu_allocation_id: instance.gpuAllocationId,
      region: instance.region,
      instance_started_at: instance.startedAt,
    },
    {
      stage: 'provisioning',
      message: `Instance ${instance.instanceId} (${deployment.selected_instance_type}) is there.`,
    },
    (transaction) =>
      openInstanceSpan(
        transaction,
        {
          organizationId: deployment.organization_id,
          deploymentId: deployment.id,
          instanceType: deployment.selected_instance_type ?? '',
          region: instance.region,
          startedAt: instance.startedAt,
          requestedAt: deployment.created_at,
        },
        at,
      ),
  )
  return { next }
}

/** The runtime says itself when an instance will not come; the deadline is for one that never says so. */
async function waitForInstance(look: Look, message: string): Promise<Taken> {
  const { deployment, world } = look
  const inStatus = world.clock().getTime() - deployment.status_changed_at.getTime()
  if (inStatus > pendingDeadline) {
    const late = `No instance came within an hour. ${message}`
    return fail(look, { stage: 'provisioning', code: 'provision_timeout', message: late })
  }
  await say(look, 'provisioning', message)
  return { waitMilliseconds: Math.min(Math.max(inStatus / 4, pause.starting), pause.running) }
}

/** After a refusal: the next instance type that fits, if capacity was all that was missing, or the end. */
async function tryNextOffer(look: Look, refusal: { code: FailureCode; message: string }): Promise<Taken> {
  const { deployment, world } = look
  const refused = [...deployment.offers_refused, deployment.selected_instance_type ?? '']
  const result =
    refusal.code === 'no_capacity' ? await chooseInstance(world, deployment.variant, refused) : null
  if (result?.outcome !== 'selected') {
    return fail(look, { stage: 'provisioning', code: refusal.code, message: refusal.message })
  }
  const { selection } = result
  const message = `${refusal.message} Trying ${selection.offer.instanceType}.`
  const changes = { ...toColumns(selection), offers_refused: refused }
  return { next: await record(look, changes, { stage: 'provisioning', message }) }
}

async function bringUp(look: Look): Promise<Taken> {
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

async function keepUp(look: Look): Promise<Taken> {
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
      await say(look, 'model_download', seen.message, getProgress(seen))
      return { waitMilliseconds: pauseWhileStarting(look) }
    case 'starting':
      await say(look, 'engine_startup', seen.message)
      return { waitMilliseconds: pauseWhileStarting(look) }
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

/** How much of a download is there, from 0 to 1; null where that is not known. */
function getProgress({
  receivedBytes,
  totalBytes,
  share,
}: Extract<EngineObservation, { phase: 'downloading' }>): number | null {
  const part = totalBytes === null || totalBytes <= 0 ? share : receivedBytes / totalBytes
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
  const since = deployment.engine_restarted_at ?? deployment.status_changed_at
  const elapsed = world.clock().getTime() - since.getTime()
  return Math.min(Math.max(elapsed / 20, pause.starting), pause.running)
}

interface Failure {
  stage: FailureStage
  code: FailureCode
  message: string
}

/** Starts a lost engine again, at most three times in ten minutes; what a new start can't mend fails at once. */
async function restartEngine(look: Look, failure: Failure): Promise<Taken> {
  const { deployment, world } = look
  const now = world.clock()
  const lastRestart = deployment.engine_restarted_at?.getTime() ?? 0
  const restarts = now.getTime() - lastRestart < restartWindow ? deployment.engine_restarts : 0
  if (!passing.has(failure.code) || restarts >= restartsInWindow) {
    return fail(look, failure)
  }
  const waiting = `${failure.message} Starting it again.`
  if (deployment.engine_url !== null) {
    await record(
      look,
      { engine_url: null, status_message: waiting },
      { stage: failure.stage, message: waiting },
    )
  }
  if (!(await world.runtime.stopEngine(deployment.id, deployment.cluster_id)))
    return { waitMilliseconds: pause.stopping }
  await record(
    look,
    { engine_restarts: restarts + 1, engine_restarted_at: now, status_message: waiting },
    null,
  )
  await world.runtime.ensureEngine(toEngineSpec(deployment, world.secretKey))
  return { waitMilliseconds: pause.starting }
}

/** Fails a deployment from whatever status it is in; its instance is given back in the steps that follow. */
async function fail({ world, deployment, lease }: Look, failure: Failure): Promise<Taken> {
  const { id, status } = deployment
  if (status === 'failed' || status === 'terminating' || status === 'terminated') {
    throw new Error(`a deployment that is ${status} can't fail`)
  }
  const reason = `${failure.code}: ${failure.message}`
  const next = await moveDeployment(
    world.db,
    { id, from: status, to: 'failed', lease, at: world.clock() },
    { failure_stage: failure.stage, failure_reason: reason, status_message: null, engine_url: null },
    { stage: failure.stage, message: reason },
  )
  return { next }
}

async function giveBack(look: Look): Promise<Taken> {
  const { deployment, lease, world } = look
  if (!(await world.runtime.release(deployment.id, deployment.cluster_id)))
    return { waitMilliseconds: pause.stopping }
  if (deployment.instance_started_at !== null && deployment.instance_released_at === null) {
    const event = { stage: 'termination', message: `Instance ${deployment.instance_id} was given back.` }
    const at = world.clock()
    await updateDeployment(
      world.db,
      lease,
      deployment.status,
      { instance_released_at: at, status_message: null },
      event,
      at,
      (transaction) => closeInstanceSpan(transaction, deployment, at),
    )
  }
  return { waitMilliseconds: null }
}

async function terminate(look: Look): Promise<Taken> {
  const { deployment, lease, world } = look
  if (!(await world.runtime.release(deployment.id, deployment.cluster_id)))
    return { waitMilliseconds: pause.stopping }
  const at = world.clock()
  const cleanedUp = deployment.failure_stage === 'termination'
  const next = await moveDeployment(
    world.db,
    { id: deployment.id, from: 'terminating', to: 'terminated', lease, at },
    {
      terminated_at: at,
      status_message: null,
      reconcile_at: null,
      ...(deployment.instance_started_at !== null && deployment.instance_released_at === null
        ? { instance_released_at: at }
        : {}),
      ...(cleanedUp ? { failure_stage: null, failure_reason: null } : {}),
    },
    { stage: null, message: 'Everything that it held was given back.' },
    (transaction) => closeInstanceSpan(transaction, deployment, at),
  )
  return { next }
}

/** After a passing fault: says so, waits longer the longer it lasts, and gives up only on an instance that never comes. */
async function tryAgain(look: Look): Promise<Taken> {
  const { deployment, world } = look
  const inStatus = world.clock().getTime() - deployment.status_changed_at.getTime()
  const waitMilliseconds = Math.min(Math.max(inStatus / 4, second), minute)
  if (deployment.status === 'provisioning' && inStatus > provisioningDeadline) {
    const message = 'The runtime gave no instance within 10 minutes.'
    return fail(look, { stage: 'provisioning', code: 'provision_timeout', message })
  }
  if (deployment.status === 'terminating') {
    const failure_reason = `cleanup_failed: ${runtimeFault}`
    if (deployment.failure_reason !== failure_reason) {
      const event = { stage: 'termination', message: failure_reason }
      await record(look, { failure_stage: 'termination', failure_reason }, event)
    }
  } else {
    await say(look, stageOf(deployment.status), `${runtimeFault} Trying again.`)
  }
  return { waitMilliseconds }
}

function stageOf(status: DeploymentStatus): FailureStage {
  return status === 'requested'
    ? 'instance_selection'
    : status === 'provisioning'
      ? 'provisioning'
      : status === 'failed'
        ? 'termination'
        : 'runtime'
}

/** Keeps `status_message` current; the history gets a line when the stage changes and every ten seconds of a long one. */
async function say(
  look: Look,
  stage: string,
  message: string,
  progress: number | null = null,
): Promise<void> {
  const { deployment, world } = look
  if (deployment.status_message === message) return
  const last = await findLastEvent(world.db, deployment.id)
  const isNews =
    last === undefined || last.stage !== stage || world.clock().getTime() - last.at.getTime() > 10 * second
  await record(look, { status_message: message, progress }, isNews ? { stage, message } : null)
}

async function record(
  { world, deployment, lease }: Look,
  changes: DeploymentChanges,
  event: EventText | null,
): Promise<Deployment | undefined> {
  return updateDeployment(world.db, lease, deployment.status, changes, event, world.clock())
}
