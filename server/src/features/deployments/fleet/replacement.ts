import type { LossTime, ServingAllocation } from '../../../ports/model-runtime.ts'
import type { SpanChange } from '../../metering/spans.ts'
import { changeInstance, closeSpan, toMetered } from './step.ts'
import type { StepContext } from './step.ts'
import type { Instance } from '../state/instance-store.ts'

/** Other hardware that the runtime gave to an instance by itself, after a loss. */
export interface Replacement {
  columns: Pick<Instance, 'instance_id' | 'gpu_allocation_id' | 'started_at' | 'lost_at'>
  /** One or two sentences for a person */
  reason: string
  /** They close the span of the lost hardware and open one for its replacement. */
  spans: readonly SpanChange[]
}

/** A launch in a reserved place follows the reservation immediately. One that is later follows a loss. */
const maxLaunchDelay = 5_000

/** Compares the hardware that serves the engine with the recorded one. Returns null if they are the same. */
export function planReplacement(
  context: StepContext,
  serving: ServingAllocation | undefined,
  now: Date,
): Replacement | null {
  const { instance_id: oldId, gpu_allocation_id: oldAllocation, lost_at: lostAt } = context.instance
  if (serving === undefined && lostAt === null) return null
  const found: ServingAllocation = serving ?? { createdAt: now, startedAt: now, reason: null }
  const { instanceId = oldId, gpuAllocationId = oldAllocation, createdAt, reason } = found
  const isSame = instanceId === oldId && gpuAllocationId === oldAllocation
  if (isSame && lostAt === null && !isRelaunched(context.instance, found)) return null
  const metered = toMetered(context)
  const startedAt = earliest(now, latest(found.startedAt, lostAt ?? createdAt))
  return {
    columns: {
      instance_id: instanceId,
      gpu_allocation_id: gpuAllocationId,
      started_at: startedAt,
      lost_at: null,
    },
    reason: [reason, isSame ? null : `Instance ${instanceId} replaced ${oldId}.`].filter(Boolean).join(' '),
    spans: [
      closeSpan(context, earliest(now, createdAt)),
      {
        kind: 'open',
        instance: metered,
        hardware: { instanceId: instanceId ?? '', region: context.instance.region ?? '', startedAt },
        now,
      },
    ],
  }
}

/** True if a reserved place was empty for some time before this engine was launched in it. */
function isRelaunched(
  { started_at: heldSince }: Instance,
  { instanceId, startedAt }: ServingAllocation,
): boolean {
  return (
    instanceId === undefined &&
    heldSince !== null &&
    startedAt.getTime() - heldSince.getTime() > maxLaunchDelay
  )
}

/** Stops billing hardware lost at `lostAt`; ends an outage of the runtime. Undefined after another write. */
export async function recordLoss(context: StepContext, lostAt: LossTime): Promise<Instance | undefined> {
  const { deps, instance } = context
  const { started_at: startedAt, unreachable_since: outage } = instance
  const now = deps.clock()
  if (lostAt === undefined || instance.lost_at !== null) {
    return outage === null ? instance : changeInstance(context, { columns: { unreachable_since: null } })
  }
  const reported = lostAt === 'unknown' ? (outage ?? now) : lostAt
  const at = earliest(now, latest(reported, startedAt ?? reported))
  return changeInstance(context, {
    columns: { lost_at: at, unreachable_since: null },
    spans: [closeSpan(context, at)],
  })
}

function latest(one: Date, other: Date): Date {
  return one > other ? one : other
}

function earliest(one: Date, other: Date): Date {
  return one < other ? one : other
}
