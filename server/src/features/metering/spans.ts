import { sql } from 'kysely'
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

/** A change of the open span of an instance at `now`. */
export type SpanChange =
  /** Opens a span; an open one is left unchanged. `startedAt` is by the provider's clock. */
  | {
      kind: 'open'
      instance: MeteredInstance
      hardware: { instanceId: string; region: string; startedAt: Date }
      now: Date
    }
  /** Marks the open span as billable from its start, because the engine has become ready. */
  | { kind: 'confirm'; instance: Holder; now: Date }
  /** Closes the open span, if any, after the release; voids that of an engine that never became ready */
  | {
      kind: 'close'
      instance: Holder
      now: Date
      /** The milliseconds that really passed between two times; default: their difference */
      passed?: ((since: Date, until: Date) => number) | undefined
    }

type ChangeOf<Kind extends SpanChange['kind']> = Extract<SpanChange, { kind: Kind }>

/** Changes spans of any number of organizations: first closes, then opens, then confirms them. */
export async function changeSpans(
  transaction: DatabaseTransaction,
  changes: readonly SpanChange[],
): Promise<void> {
  if (changes.length === 0) return
  const organizationIds = changes.map(({ instance }) => instance.organizationId)
  const sealedThrough = await lockLedgers(transaction, organizationIds)
  const select = <Kind extends SpanChange['kind']>(kind: Kind) =>
    changes.filter((change): change is ChangeOf<Kind> => change.kind === kind)
  await closeSpans(transaction, select('close'), sealedThrough)
  await openSpans(transaction, select('open'), sealedThrough)
  await confirmSpans(transaction, select('confirm'))
}

/** The watermark of each organization by its id */
type Watermarks = ReadonlyMap<number, Date>

async function openSpans(
  transaction: DatabaseTransaction,
  opens: readonly ChangeOf<'open'>[],
  watermarks: Watermarks,
): Promise<void> {
  if (opens.length === 0) return
  const rows = opens.map(({ instance, hardware, now }) => {
    const { engineId, deploymentId, organizationId, instanceType, requestedAt } = instance
    const sealedThrough = watermarks.get(organizationId)!
    return {
      organization_id: organizationId,
      deployment_id: deploymentId,
      engine_id: engineId,
      instance_type: instanceType,
      region: hardware.region,
      instance_id: hardware.instanceId,
      started_at: toSpanStart(hardware.startedAt, { requestedAt, now, sealedThrough }),
      reported_start_at: hardware.startedAt,
    }
  })
  await transaction
    .insertInto('instance_spans')
    .values(rows)
    .onConflict((conflict) => conflict.column('engine_id').where('ended_at', 'is', null).doNothing())
    .execute()
}

async function confirmSpans(
  transaction: DatabaseTransaction,
  confirms: readonly ChangeOf<'confirm'>[],
): Promise<void> {
  if (confirms.length === 0) return
  const rows = confirms.map(({ instance, now }) => ({ engine_id: instance.engineId, confirmed_at: now }))
  await sql`
    UPDATE instance_spans SET confirmed_at = ready.confirmed_at
    FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS ready (engine_id uuid, confirmed_at timestamptz)
    WHERE instance_spans.engine_id = ready.engine_id AND ended_at IS NULL AND instance_spans.confirmed_at IS NULL`.execute(
    transaction,
  )
}

async function closeSpans(
  transaction: DatabaseTransaction,
  closes: readonly ChangeOf<'close'>[],
  watermarks: Watermarks,
): Promise<void> {
  if (closes.length === 0) return
  const closing = new Map(closes.map((close) => [close.instance.engineId, close]))
  const spans = await transaction
    .selectFrom('instance_spans')
    .select(['id', 'engine_id', 'started_at', 'confirmed_at'])
    .where('engine_id', 'in', [...closing.keys()])
    .where('ended_at', 'is', null)
    .execute()
  const rows = spans.map(({ id, engine_id: engineId, started_at: startedAt, confirmed_at: confirmedAt }) => {
    const { instance, now, passed } = closing.get(engineId)!
    const sealedThrough = watermarks.get(instance.organizationId)!
    const end = passed === undefined ? now : new Date(startedAt.getTime() + passed(startedAt, now))
    return {
      id,
      ended_at: toSpanEnd(end, startedAt, sealedThrough),
      reported_end_at: now,
      voided_at: confirmedAt === null ? now : null,
    }
  })
  await sql`
    UPDATE instance_spans
    SET ended_at = closed.ended_at, reported_end_at = closed.reported_end_at, voided_at = closed.voided_at
    FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
      AS closed (id bigint, ended_at timestamptz, reported_end_at timestamptz, voided_at timestamptz)
    WHERE instance_spans.id = closed.id`.execute(transaction)
}

/** Two clocks may differ by this much: the grace period of a seal. */
const clockDifference = 15 * 60_000

/** Starts open spans in the future (a clock was set back) at `now`, so that they are metered from then on. */
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

/** Charges usage from `at` or the first unsealed hour, and returns the time. Cuts its hour into two parts. */
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
  return (await lockLedgers(db, [organizationId])).get(organizationId)!
}

/** Locks ledgers until commit, by id so that no two transactions wait for each other; returns watermarks. */
async function lockLedgers(db: Database, organizationIds: readonly number[]): Promise<Watermarks> {
  const ids = [...new Set(organizationIds)].toSorted((one, other) => one - other)
  const existing = await lockExisting(db, ids)
  if (existing.size > 0) return existing
  await db
    .insertInto('usage_cursors')
    .values(ids.map((id) => ({ organization_id: id })))
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  return lockExisting(db, ids)
}

/** Locks the ledgers of organizations, or none of them if one is missing. */
async function lockExisting(db: Database, ids: readonly number[]): Promise<Watermarks> {
  const { rows } = await sql<{ organization_id: number; sealed_through: Date }>`
    SELECT organization_id, sealed_through FROM usage_cursors
    WHERE organization_id = ANY(${ids}::bigint[])
      AND (SELECT count(*) FROM usage_cursors WHERE organization_id = ANY(${ids}::bigint[])) = ${ids.length}
    ORDER BY organization_id FOR UPDATE`.execute(db)
  return new Map(rows.map(({ organization_id: id, sealed_through: through }) => [id, through]))
}
