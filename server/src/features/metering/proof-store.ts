import { sql } from 'kysely'
import type { Database } from '../../database/tables.ts'
import type { MeterName } from '../../base/meters.ts'
import type { AppliedPrice } from './applied-prices.ts'
import type { BucketRow } from './seal.ts'
import { firstPreviousHash } from './seal.ts'
import { tokenMeters } from './token-meters.ts'

/** Whole hours, all sealed. */
export interface SealedRange {
  from: Date
  to: Date
}

/** Billed time of an instance. */
export interface ProvenSpan {
  deployment_id: string
  instance_id: string
  instance_type: string
  region: string
  from: Date
  to: Date
}

/** The parts of an organization's billed spans within a range. */
export async function listProvenSpans(
  db: Database,
  organizationId: number,
  { from, to }: SealedRange,
): Promise<ProvenSpan[]> {
  const { rows } = await sql<ProvenSpan>`
    SELECT deployment_id, instance_id, instance_type, region, greatest(started_at, ${from}) AS from,
      least(coalesce(ended_at, 'infinity'), ${to}) AS to
    FROM instance_spans
    WHERE organization_id = ${organizationId} AND confirmed_at IS NOT NULL
      AND greatest(started_at, ${from}) < least(coalesce(ended_at, 'infinity'), ${to})
    ORDER BY id`.execute(db)
  return rows
}

export interface ProvenTokens {
  deployment_id: string
  model_name: string
  hour: Date
  meter: MeterName
  quantity: string
}

/** The tokens billed in a range, by the hour in which they were used. */
export async function listProvenTokens(
  db: Database,
  organizationId: number,
  { from, to }: SealedRange,
): Promise<ProvenTokens[]> {
  const { rows } = await sql<ProvenTokens>`
    SELECT deployment_id, model_name, coalesce(late_for, hour) AS hour, meter, sum(quantity)::text AS quantity
    FROM token_usage CROSS JOIN LATERAL ${tokenMeters} AS counted (meter, quantity)
    WHERE organization_id = ${organizationId} AND token_usage.hour >= ${from} AND token_usage.hour < ${to} AND quantity > 0
    GROUP BY deployment_id, model_name, coalesce(late_for, hour), meter
    ORDER BY 3, 1, 4`.execute(db)
  return rows
}

/** The prices of the sealed hours of a range, with their currency. */
export async function listAppliedPrices(
  db: Database,
  organizationId: number,
  { from, to }: SealedRange,
): Promise<(AppliedPrice & { currency: string })[]> {
  const { rows } = await sql<AppliedPrice & { currency: string }>`
    SELECT meter, dimensions, unit_amount::text AS price, currency, min(price_from) AS from,
      CASE WHEN bool_or(price_until IS NULL) THEN NULL ELSE max(price_until) END AS until,
      min(coalesce(late_for, hour)) AS "firstHour", max(coalesce(late_for, hour)) AS "lastHour"
    FROM usage_buckets
    WHERE organization_id = ${organizationId} AND sequence IS NOT NULL AND hour >= ${from} AND hour < ${to}
    GROUP BY meter, dimensions, dimensions_key, unit_amount, currency
    ORDER BY meter, dimensions_key, min(coalesce(late_for, hour))`.execute(db)
  return rows
}

export type ChainRow = BucketRow & {
  sequence: number
  previous_hash: string
  hash: string
}

/** The hash before the first sealed hour of a range; 64 zeros if the range has none. */
export async function findPreviousHash(
  db: Database,
  organizationId: number,
  { from, to }: SealedRange,
): Promise<string> {
  const first = await db
    .selectFrom('usage_buckets')
    .select('previous_hash')
    .where('organization_id', '=', organizationId)
    .where('sequence', 'is not', null)
    .where('hour', '>=', from)
    .where('hour', '<', to)
    .orderBy('sequence')
    .limit(1)
    .executeTakeFirst()
  return first?.previous_hash ?? firstPreviousHash
}

const pageSize = 1000

/** The sealed hours of a range in pages, in the order of sealing. */
export async function* readChain(
  db: Database,
  organizationId: number,
  { from, to }: SealedRange,
): AsyncGenerator<ChainRow[], void> {
  for (let after = 0; ;) {
    const rows = await db
      .selectFrom('usage_buckets')
      .select(['hour', 'deployment_id', 'meter', 'dimensions', 'quantity', 'unit_amount', 'late_for'])
      .select(['sequence', 'previous_hash', 'hash'])
      .where('organization_id', '=', organizationId)
      .where('sequence', '>', after)
      .where('hour', '>=', from)
      .where('hour', '<', to)
      .orderBy('sequence')
      .limit(pageSize)
      .$narrowType<{ sequence: number; previous_hash: string; hash: string }>()
      .execute()
    if (rows.length > 0) yield rows
    if (rows.length < pageSize) return
    after = rows.at(-1)!.sequence
  }
}
