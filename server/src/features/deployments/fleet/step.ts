import type { Services } from '../../../services.ts'
import type { MeteredInstance, SpanChange } from '../../metering/spans.ts'
import type { EventContent, InstanceWrite, Lease, TransactionHook } from '../state/change-store.ts'
import { deriveStatus } from './derive-status.ts'
import type { PassBatches } from './pass-batches.ts'
import type { Deployment } from '../state/store.ts'
import { toWaitingColumns } from '../state/waiting.ts'
import type { Waiting } from '../state/waiting.ts'
import type { InstanceStatus, NextInstanceStatus } from '../state/instance-lifecycle.ts'
import { makeInstance } from '../state/instance-store.ts'
import type { Instance } from '../state/instance-store.ts'
import type { EngineSettings } from '../state/tables.ts'

export type Deps = Pick<
  Services,
  'db' | 'clock' | 'observedTime' | 'log' | 'runtimes' | 'config' | 'secretKey' | 'prices' | 'jobs'
>

/** Milliseconds between two polls of the runtime, by what the instance waits for. */
export const pollDelay = { starting: 500, stopping: 250, running: 5_000 }

/** A reconciler's pass over a leased deployment. Writes keep `deployment` and `instances` up to date. */
export interface Pass {
  readonly deps: Deps
  readonly batches: PassBatches
  readonly lease: Lease
  /** Milliseconds between two checks of a running instance */
  readonly checkInterval: number
  /** An instance of some deployment may wait for hardware that others give up. */
  readonly isHardwareAwaited: boolean
  deployment: Deployment
  /** Those that are not released, oldest first */
  instances: readonly Instance[]
  /** True if another writer changed the deployment first, so that the pass has outdated rows. */
  isOutdated: boolean
  /** The last write. Writes follow each other, because each derives the status from all instances. */
  writing: Promise<unknown>
}

/** One step of one instance. */
export interface StepContext {
  readonly pass: Pass
  readonly deps: Deps
  readonly deployment: Deployment
  readonly instance: Instance
}

export function toContext(pass: Pass, instance: Instance): StepContext {
  return { pass, deps: pass.deps, deployment: pass.deployment, instance }
}

/**
 * The delay until the next step (null for none), or the updated instance, whose next step runs immediately;
 * `next` is undefined if another writer changed the deployment first.
 */
export type StepResult = { waitMilliseconds: number | null } | { next: Instance | undefined }
export type Step = (context: StepContext) => Promise<StepResult>

type InstanceColumns = Omit<
  Instance,
  | 'id'
  | 'deployment_id'
  | 'status'
  | 'updated_at'
  | 'status_changed_at'
  | 'due_at'
  | keyof ReturnType<typeof toWaitingColumns>
>

/** What a step changes. */
export interface InstanceChange {
  columns?: Partial<InstanceColumns>
  /** What the next step waits for, null for nothing; undefined if that stays */
  waiting?: Waiting | null
  /** Columns of the deployment that don't follow from its instances */
  deployment?:
    | Partial<
        Pick<
          Deployment,
          | 'desired_state'
          | 'desired_instances'
          | 'refusal'
          | 'refusals'
          | 'refused_at'
          | 'ran_at'
          | 'recovery'
          | 'failure_stage'
          | 'failure_reason'
          | 'served_settings'
          | keyof EngineSettings
        >
      >
    | undefined
  event?: EventContent | null
  /** Changes of the instance's spans in the ledger */
  spans?: readonly SpanChange[] | undefined
  /** Further writes in the same transaction */
  hook?: TransactionHook | undefined
}

/** Moves an instance, which then waits for nothing. Undefined if another writer was first. */
export function moveInstance<From extends InstanceStatus>(
  context: StepContext,
  { from, to }: { from: From; to: NextInstanceStatus<From> },
  change: InstanceChange,
): Promise<Instance | undefined> {
  return write(context, from, to, { waiting: null, ...change })
}

/** Changes an instance without moving it. Undefined if another writer changed the deployment first. */
export function changeInstance(context: StepContext, change: InstanceChange): Promise<Instance | undefined> {
  return write(context, context.instance.status, context.instance.status, change)
}

function write(
  context: StepContext,
  from: InstanceStatus,
  to: InstanceStatus,
  change: InstanceChange,
): Promise<Instance | undefined> {
  const { pass } = context
  const writing = pass.writing.then(() => writeNow(context, from, to, change))
  pass.writing = writing.catch(() => undefined)
  return writing
}

async function writeNow(
  { pass, instance: { id } }: StepContext,
  from: InstanceStatus,
  to: InstanceStatus,
  { columns = {}, waiting, deployment, event = null, spans, hook }: InstanceChange,
): Promise<Instance | undefined> {
  const current = pass.instances.find((instance) => instance.id === id)
  if (current?.status !== from) return undefined
  const at = pass.deps.clock()
  const moves = to !== from
  const set = {
    ...columns,
    ...(waiting === undefined ? {} : toWaitingColumns(waiting)),
    ...(moves ? { status: to, status_changed_at: at, due_at: null } : {}),
    updated_at: at,
  }
  const next: Instance = { ...current, ...set }
  const instances = pass.instances.flatMap((each) => (each.id !== id ? each : to === 'released' ? [] : next))
  const isWritten = await writePass(pass, instances, {
    instance: { kind: 'change', id, columns: set },
    deployment,
    isDue: moves,
    event,
    at,
    spans,
    hook,
  })
  return isWritten ? next : undefined
}

interface PassChange extends Pick<InstanceChange, 'deployment' | 'spans' | 'hook'> {
  instance?: InstanceWrite
  isDue: boolean
  event: EventContent | null
  at: Date
}

/** Writes a change that leaves the deployment with these instances. False if another writer was first. */
async function writePass(
  pass: Pass,
  instances: readonly Instance[],
  { deployment: changes = {}, isDue, ...change }: PassChange,
): Promise<boolean> {
  if (pass.isOutdated) return false
  const { batches, lease, deployment } = pass
  const { id, status } = deployment
  const derived = deriveStatus({ ...deployment, ...changes }, instances)
  const hasEnded = derived.status === 'terminated'
  const changed = await batches.changes.add({
    ...change,
    id,
    status,
    lease,
    changes: { ...changes, ...derived, ...(hasEnded ? { terminated_at: change.at } : {}) },
    due: hasEnded ? 'never' : isDue ? 'now' : 'unchanged',
  })
  pass.isOutdated = changed === undefined
  if (changed === undefined) return false
  pass.deployment = changed
  pass.instances = instances
  return true
}

/** Starts a further instance. */
export async function startInstance(pass: Pass): Promise<void> {
  const at = pass.deps.clock()
  const row = makeInstance(pass.deployment, at)
  const instance = { kind: 'start', row } as const
  await writePass(pass, [...pass.instances, row], { instance, isDue: true, event: null, at })
}

/** Ends a terminated deployment that has no instance. */
export async function endDeployment(pass: Pass): Promise<void> {
  await writePass(pass, [], { isDue: false, event: allReleased, at: pass.deps.clock() })
}

export const allReleased: EventContent = { stage: null, message: 'All resources were released.' }

/** Observed milliseconds since the instance entered its current status. */
export function timeInStatus({ instance, deps }: StepContext): number {
  return deps.observedTime.between(instance.status_changed_at, deps.clock())
}

/** Ends the instance's span at `now`, which is by the provider's clock or ours. */
export function closeSpan(context: StepContext, now: Date): SpanChange {
  const { observedTime } = context.deps
  return {
    kind: 'close',
    instance: toMetered(context),
    now,
    passed: (since, until) => observedTime.passed(since, until),
  }
}

/** What the ledger needs of an instance. */
export function toMetered({ deployment, instance }: StepContext): MeteredInstance {
  return {
    engineId: instance.id,
    deploymentId: deployment.id,
    organizationId: deployment.organization_id,
    instanceType: instance.instance_type ?? '',
    requestedAt: instance.created_at,
  }
}
