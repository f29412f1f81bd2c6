import type { Database, DatabaseTransaction } from '../../database/tables.ts'
import { floorHour, latest } from './hours.ts'
import { toSpanEnd, toSpanStart } from './ledger.ts'

/** What the ledger needs of an instance. */
export interface MeteredInstance {
  engineId: string
  deploymentId: string
  organizationId: number
  instanceType: string
  requestedAt: Date
}

type Holder = Pick<MeteredInstance, 'engineId' | 'organizationId'>

/** Opens the span of an instance; an open span is left unchanged. */
export async function openInstanceSpan(
  transaction: DatabaseTransaction,
  { engineId, deploymentId, organizationId, instanceType, requestedAt }: MeteredInstance,
  /** `startedAt` is by the provider's clock. */
  hardware: { instanceId: string; region: string; startedAt: Date },
  now: Date,
): Promise<void> {
  const { instanceId, region, startedAt: reported } = hardware
  const sealedThrough = await lockLedger(transaction, organizationId)
  await transaction
    .insertInto('instance_spans')
    .values({
      organization_id: organizationId,
      deployment_id: deploymentId,
      engine_id: engineId,
      instance_type: instanceType,
      region,
      instance_id: instanceId,
      started_at: toSpanStart(reported, { requestedAt, now, sealedThrough }),
      reported_start_at: reported,
    })
    .onConflict((conflict) => conflict.column('engine_id').where('ended_at', 'is', null).doNothing())
    .execute()
}

/** Marks the open span as billable from its start, because the engine has become ready. */
export async function confirmInstanceSpan(
  transaction: DatabaseTransaction,
  { engineId, organizationId }: Holder,
  now: Date,
): Promise<void> {
  await lockLedger(transaction, organizationId)
  await transaction
    .updateTable('instance_spans')
    .set({ confirmed_at: now })
    .where('engine_id', '=', engineId)
    .where('ended_at', 'is', null)
    .where('confirmed_at', 'is', null)
    .execute()
}

/** Two clocks may differ by this much: the grace period of a seal. */
const clockDifference = 15 * 60_000

/** Open spans that start in the future, because a clock was set back, start at `now` instead: they are metered from then on. */
export async function moveFutureSpans(db: Database, organizationId: number, now: Date): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    const sealedThrough = await lockLedger(transaction, organizationId)
    const start = latest(now, sealedThrough)
    await transaction
      .updateTable('instance_spans')
      .set({ started_at: start })
      .where('organization_id', '=', organizationId)
      .where('ended_at', 'is', null)
      .where('started_at', '>', new Date(start.getTime() + clockDifference))
      .execute()
  })
}

/** Closes the open span, if any, after the instance's release; the span of an engine that never became ready is voided. */
export async function closeInstanceSpan(
  transaction: DatabaseTransaction,
  { engineId, organizationId }: Holder,
  now: Date,
): Promise<void> {
  const sealedThrough = await lockLedger(transaction, organizationId)
  const span = await transaction
    .selectFrom('instance_spans')
    .select(['id', 'started_at', 'confirmed_at'])
    .where('engine_id', '=', engineId)
    .where('ended_at', 'is', null)
    .executeTakeFirst()
  if (span === undefined) return
  await transaction
    .updateTable('instance_spans')
    .set({
      ended_at: toSpanEnd(now, span.started_at, sealedThrough),
      reported_end_at: now,
      voided_at: span.confirmed_at === null ? now : null,
    })
    .where('id', '=', span.id)
    .execute()
}

/**
 * Charges an organization's usage from `at` on, or from its first unsealed hour, and returns that time. Its hour is cut into two
 * parts, so that nothing before is charged.
 */
export async function startCharging(
  transaction: DatabaseTransaction,
  organizationId: number,
  at: Date,
): Promise<Date> {
  const since = latest(at, await lockLedger(transaction, organizationId))
  await transaction
    .updateTable('usage_cursors')
    .set({ charged_since: since })
    .where('organization_id', '=', organizationId)
    .execute()
  // Tokens of the last seconds, up to now, are free.
  await transaction
    .updateTable('token_usage')
    .set({ before_charging: true })
    .where('organization_id', '=', organizationId)
    .where('hour', '=', floorHour(since))
    .where('hour', '<', since)
    .execute()
  return since
}

/** Locks an organization's ledger until the transaction ends and returns its watermark. */
export async function lockLedger(db: Database, organizationId: number): Promise<Date> {
  const lock = () =>
    db
      .selectFrom('usage_cursors')
      .select('sealed_through')
      .where('organization_id', '=', organizationId)
      .forUpdate()
      .executeTakeFirst()
  const existing = await lock()
  if (existing !== undefined) return existing.sealed_through
  await db
    .insertInto('usage_cursors')
    .values({ organization_id: organizationId })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  return (await lock())!.sealed_through
}
