import { sql } from 'kysely'
import type { Selectable } from 'kysely'
import type { Database } from '../../database/tables.ts'
import { fromThousandths } from '../../base/decimal.ts'
import { addHours, earliest } from './hours.ts'
import type { OpenLedger, UsageBucket } from './ledger.ts'
import { endpointService } from '../../base/meters.ts'
import type { Dimensions, MeterName } from '../../base/meters.ts'
import { listTariffs } from './endpoint-prices.ts'
import { sealBuckets } from './seal.ts'
import type { InstanceSpansTable, TokenUsageTable } from './tables.ts'
import { ownerTeam } from './usage-team.ts'

/** The ids of organizations with unsealed usage, in order. */
export async function listUnsettledOrganizations(db: Database): Promise<number[]> {
  const { rows } = await sql<{ organization_id: number }>`
    SELECT organization_id FROM usage_cursors AS cursor
    WHERE EXISTS (
        SELECT FROM instance_spans AS span WHERE span.organization_id = cursor.organization_id
          AND span.voided_at IS NULL AND (span.ended_at IS NULL OR span.ended_at > cursor.sealed_through))
      OR EXISTS (
        SELECT FROM token_usage AS tokens WHERE tokens.organization_id = cursor.organization_id
          AND tokens.hour >= cursor.sealed_through)
      OR EXISTS (
        SELECT FROM usage_buckets AS bucket WHERE bucket.organization_id = cursor.organization_id
          AND bucket.sealed_at IS NULL)
    ORDER BY organization_id`.execute(db)
  return rows.map((row) => row.organization_id)
}

/** An organization's watermark: all hours before it are sealed. null before its first instance. */
export async function findSealedThrough(db: Database, organizationId: number): Promise<Date | null> {
  const cursor = await db
    .selectFrom('usage_cursors')
    .select('sealed_through')
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
  return cursor?.sealed_through ?? null
}

/** From when on an organization's usage is charged; null during the trial. */
async function findChargedSince(db: Database, organizationId: number): Promise<Date | null> {
  const cursor = await db
    .selectFrom('usage_cursors')
    .select('charged_since')
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
  return cursor?.charged_since ?? null
}

/** Loads an organization's unsealed usage. The caller holds the ledger lock or reads from one snapshot. */
export async function loadOpenLedger(
  db: Database,
  organizationId: number,
  sealedThrough: Date,
): Promise<OpenLedger> {
  const spans = await db
    .selectFrom('instance_spans')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('voided_at', 'is', null)
    .where((where) => where.or([where('ended_at', 'is', null), where('ended_at', '>', sealedThrough)]))
    .orderBy('id')
    .execute()
  const tokens = await db
    .selectFrom('token_usage')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('hour', '>=', sealedThrough)
    .orderBy('hour')
    .orderBy('deployment_id')
    .execute()
  // Providers may have handed over hardware for these instances that has no span yet.
  const provisioning = await db
    .selectFrom('instances')
    .innerJoin('deployments', 'deployments.id', 'instances.deployment_id')
    .select('instances.status_changed_at')
    .where('organization_id', '=', organizationId)
    .where('instances.status', '=', 'provisioning')
    .execute()
  const undecided = [
    ...spans.flatMap((span) => (span.confirmed_at === null ? [span.started_at] : [])),
    ...provisioning.map((instance) => instance.status_changed_at),
  ]
  return {
    sealedThrough,
    chargedSince: await findChargedSince(db, organizationId),
    spans: spans.filter((span) => span.confirmed_at !== null).map(toSpan),
    tokens: tokens.map(toTokens),
    tariffs: await listTariffs(db, { organizationIds: [organizationId] }),
    undecidedSince: undecided.length === 0 ? null : earliest(...undecided),
  }
}

export function toSpan(row: Selectable<InstanceSpansTable>): OpenLedger['spans'][number] {
  return {
    deploymentId: row.deployment_id,
    instanceType: row.instance_type,
    region: row.region,
    startedAt: row.started_at,
    endedAt: row.ended_at,
  }
}

export function toTokens(row: Selectable<TokenUsageTable>): OpenLedger['tokens'][number] {
  return {
    deploymentId: row.deployment_id,
    modelName: row.model_name,
    hour: row.hour,
    beforeCharging: row.before_charging,
    lateFor: row.late_for,
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    cachedTokens: row.cached_tokens,
  }
}

/** Replaces an organization's unsealed buckets, then seals the hours before `sealedThrough`. */
export async function writeBuckets(
  db: Database,
  organizationId: number,
  { buckets, sealedThrough }: { buckets: readonly UsageBucket[]; sealedThrough: Date },
  now: Date,
): Promise<void> {
  const wanted = JSON.stringify(buckets.map(toBucketRow))
  await sql`
    WITH wanted AS (
      SELECT row.*, ${ownerTeam} AS team_id FROM jsonb_to_recordset(${wanted}::jsonb) AS row (deployment_id uuid, meter text, hour timestamptz,
        before_charging boolean, late_for timestamptz, dimensions jsonb, quantity numeric, price_key text, service_key text,
        display_name text, unit_amount numeric, currency text, price_from timestamptz, price_until timestamptz)
      JOIN deployments ON deployments.id = row.deployment_id
    ), dropped AS (
      DELETE FROM usage_buckets AS bucket
      WHERE organization_id = ${organizationId} AND sealed_at IS NULL AND NOT EXISTS (
        SELECT FROM wanted WHERE wanted.deployment_id = bucket.deployment_id AND wanted.meter = bucket.meter
          AND wanted.hour = bucket.hour AND wanted.before_charging = bucket.before_charging
          AND wanted.late_for IS NOT DISTINCT FROM bucket.late_for AND wanted.dimensions = bucket.dimensions)
    )
    INSERT INTO usage_buckets AS bucket (organization_id, deployment_id, meter, hour, before_charging, late_for, dimensions,
      quantity, price_key, service_key, display_name, unit_amount, currency, price_from, price_until, team_id)
    SELECT ${organizationId}, wanted.* FROM wanted
    ON CONFLICT (organization_id, deployment_id, meter, hour, dimensions_key, before_charging, late_for) DO UPDATE SET
      quantity = excluded.quantity, price_key = excluded.price_key, service_key = excluded.service_key,
      display_name = excluded.display_name, unit_amount = excluded.unit_amount, currency = excluded.currency,
      price_from = excluded.price_from, price_until = excluded.price_until, team_id = excluded.team_id
    WHERE (bucket.quantity, bucket.price_key, bucket.service_key, bucket.display_name, bucket.unit_amount, bucket.currency,
        bucket.price_from, bucket.price_until, bucket.team_id)
      IS DISTINCT FROM (excluded.quantity, excluded.price_key, excluded.service_key, excluded.display_name,
        excluded.unit_amount, excluded.currency, excluded.price_from, excluded.price_until, excluded.team_id)`.execute(
    db,
  )
  await sealBuckets(db, organizationId, sealedThrough, now)
  await db
    .updateTable('usage_cursors')
    .set({ sealed_through: sealedThrough, settled_at: now })
    .where('organization_id', '=', organizationId)
    .execute()
}

/** A bucket as a row of `usage_buckets`. */
export function toBucketRow({
  deploymentId,
  meter,
  hour,
  beforeCharging,
  lateFor,
  dimensions,
  thousandths,
  price,
}: UsageBucket) {
  return {
    deployment_id: deploymentId,
    meter,
    hour,
    before_charging: beforeCharging,
    late_for: lateFor,
    dimensions,
    quantity: fromThousandths(thousandths),
    price_key: price.priceKey,
    service_key: price.serviceKey,
    display_name: price.displayName,
    unit_amount: price.unit?.amount ?? null,
    currency: price.unit?.currency ?? null,
    price_from: price.validFrom,
    price_until: price.validUntil,
  }
}

/** The sum of usage at one price. */
export interface UsageSum {
  meter: MeterName
  dimensions: Dimensions
  /** A decimal */
  quantity: string
  serviceKey: string
  displayName: string
  unitAmount: string
  currency: string
}

/** Filters an organization's usage. */
export interface UsageScope {
  /** The first hour */
  from?: Date | undefined
  /** The hour after the last */
  to?: Date | undefined
  /** Omits usage before charging began, in the hour in which it began */
  chargedOnly?: boolean | undefined
  deploymentId?: string | undefined
  /** Omits what the organization pays to others */
  withoutEndpoints?: boolean | undefined
}

/** Sums sealed usage by price. */
export async function sumSealedUsage(
  db: Database,
  organizationId: number,
  { from, to, chargedOnly, deploymentId }: UsageScope,
): Promise<UsageSum[]> {
  let query = db
    .selectFrom('usage_buckets')
    .select(['meter', 'dimensions', 'service_key', 'display_name', 'unit_amount', 'currency'])
    .select(({ fn }) => fn.sum<string>('quantity').as('quantity'))
    .where('organization_id', '=', organizationId)
    .where('sealed_at', 'is not', null)
    .groupBy(['meter', 'dimensions', 'service_key', 'display_name', 'unit_amount', 'currency'])
  if (from !== undefined) query = query.where('hour', '>=', from)
  if (to !== undefined) query = query.where('hour', '<', to)
  if (chargedOnly === true) query = query.where('before_charging', '=', false)
  if (deploymentId !== undefined) query = query.where('deployment_id', '=', deploymentId)
  const rows = await query.execute()
  return rows.map(({ service_key: serviceKey, display_name: displayName, ...row }) => {
    if (row.unit_amount === null || row.currency === null) throw new Error('Sealed usage has no price')
    const { meter, dimensions, quantity, unit_amount: unitAmount, currency } = row
    return { meter, dimensions, quantity, serviceKey, displayName, unitAmount, currency }
  })
}

/**
 * A page of sealed usage by price key and hour, in order, in whole thousandths: seven days from the first
 * sealed hour at or after `from`, without uncharged usage. Usage that is free or paid to others counts as 0.
 */
export async function listSealedHours(
  db: Database,
  organizationId: number,
  from: Date,
): Promise<{ priceKey: string; hour: Date; thousandths: number }[]> {
  const { first } = await db
    .selectFrom('usage_buckets')
    .select(({ fn }) => fn.min<Date | null>('hour').as('first'))
    .where('organization_id', '=', organizationId)
    .where('sealed_at', 'is not', null)
    .where('hour', '>=', from)
    .executeTakeFirstOrThrow()
  if (first === null) return []
  const rows = await db
    .selectFrom('usage_buckets')
    .select(['price_key', 'hour'])
    .select(
      sql<string>`coalesce(sum(quantity) FILTER (WHERE unit_amount > 0 AND service_key <> ${endpointService}), 0) * 1000`.as(
        'thousandths',
      ),
    )
    .where('organization_id', '=', organizationId)
    .where('sealed_at', 'is not', null)
    .where('hour', '>=', first)
    .where('hour', '<', addHours(first, 7 * 24))
    .where('before_charging', '=', false)
    .groupBy(['price_key', 'hour'])
    .orderBy('price_key')
    .orderBy('hour')
    .execute()
  return rows.map(({ price_key, hour, thousandths }) => ({
    priceKey: price_key,
    hour,
    thousandths: Number(thousandths),
  }))
}

/** The sealed usage of a UTC day, summed over prices. */
export interface DaySum {
  /** E.g. `2026-01-02` */
  date: string
  meter: MeterName
  dimensions: Dimensions
  /** A decimal */
  quantity: string
  /** Quantity times price, a decimal */
  amount: string
}

/** Sums sealed usage by UTC day. Amounts include only usage priced in `currency`. */
export function sumSealedDays(
  db: Database,
  organizationId: number,
  { from, to }: { from: Date; to: Date },
  currency: string,
): Promise<DaySum[]> {
  const date = sql<string>`to_char(hour AT TIME ZONE 'UTC', 'YYYY-MM-DD')`
  return db
    .selectFrom('usage_buckets')
    .select([date.as('date'), 'meter', 'dimensions'])
    .select(({ fn }) => fn.sum<string>('quantity').as('quantity'))
    .select(
      sql<string>`coalesce(sum(quantity * unit_amount) FILTER (WHERE currency = ${currency}), 0)`.as(
        'amount',
      ),
    )
    .where('organization_id', '=', organizationId)
    .where('sealed_at', 'is not', null)
    .where('hour', '>=', from)
    .where('hour', '<', to)
    .groupBy([date, 'meter', 'dimensions'])
    .execute()
}

/** The number of requests to a deployment and their tokens. */
export async function sumTokens(
  db: Database,
  deploymentId: string,
): Promise<{ requests: number; inputTokens: number; outputTokens: number }> {
  const sums = await db
    .selectFrom('token_usage')
    .select(({ fn }) => [
      fn.sum<string | null>('requests').as('requests'),
      fn.sum<string | null>('input_tokens').as('input_tokens'),
      fn.sum<string | null>('output_tokens').as('output_tokens'),
    ])
    .where('deployment_id', '=', deploymentId)
    .executeTakeFirstOrThrow()
  return {
    requests: Number(sums.requests ?? 0),
    inputTokens: Number(sums.input_tokens ?? 0),
    outputTokens: Number(sums.output_tokens ?? 0),
  }
}
