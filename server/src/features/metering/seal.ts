import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import { sql } from 'kysely'
import type { Selectable } from 'kysely'
import type { Database } from '../../database/tables.ts'
import { formatDecimal, multiply } from '../../base/decimal.ts'
import type { Dimensions, MeterName } from '../../base/meters.ts'
import type { UsageBucketsTable } from './tables.ts'

/** A sealed hour as docs/proof.md has it, without its hashes. */
export interface SealedHour {
  /** From 1, without a gap, in the organization */
  sequence: number
  hour: string
  deployment_id: string
  meter: MeterName
  dimensions: Dimensions
  quantity: string
  price: string
  amount: string
  late_for: string | null
}

export type BucketRow = Pick<
  Selectable<UsageBucketsTable>,
  'hour' | 'deployment_id' | 'meter' | 'dimensions' | 'quantity' | 'unit_amount' | 'late_for'
>

/** The previous hash of an organization's first sealed hour. */
export const firstPreviousHash = '0'.repeat(64)

export function toSealedHour(row: BucketRow, sequence: number): SealedHour {
  if (row.unit_amount === null) throw new Error('Sealed usage has no price')
  return {
    sequence,
    hour: row.hour.toISOString(),
    deployment_id: row.deployment_id,
    meter: row.meter,
    dimensions: row.dimensions,
    quantity: formatDecimal(row.quantity),
    price: formatDecimal(row.unit_amount),
    amount: multiply(row.quantity, row.unit_amount),
    late_for: row.late_for?.toISOString() ?? null,
  }
}

/** RFC 8785 JSON of a value without undefined. */
export function toCanonicalJson(value: unknown): string {
  const json = canonicalize(value)
  if (json === undefined) throw new Error('The value has no JSON')
  return json
}

function hashHour(previousHash: string, hour: SealedHour): string {
  return createHash('sha256').update(previousHash).update(toCanonicalJson(hour)).digest('hex')
}

/** Seals and chains hours before `sealedThrough`, in order. The ledger lock makes this the only writer. */
export async function sealBuckets(
  db: Database,
  organizationId: number,
  sealedThrough: Date,
  now: Date,
): Promise<void> {
  const rows = await db
    .selectFrom('usage_buckets')
    .select(['id', 'hour', 'deployment_id', 'meter', 'dimensions', 'quantity', 'unit_amount', 'late_for'])
    .where('organization_id', '=', organizationId)
    .where('sealed_at', 'is', null)
    .where('hour', '<', sealedThrough)
    .orderBy('hour')
    .orderBy('before_charging', 'desc')
    .orderBy('deployment_id')
    .orderBy('meter')
    .orderBy('dimensions_key')
    .orderBy('late_for')
    .execute()
  if (rows.length === 0) return
  let { sequence, hash } = await findLastLink(db, organizationId)
  const links = rows.map((row) => {
    const previousHash = hash
    sequence += 1
    hash = hashHour(previousHash, toSealedHour(row, sequence))
    return { id: row.id, sequence, previous_hash: previousHash, hash }
  })
  await sql`
    UPDATE usage_buckets AS bucket
    SET sealed_at = ${now}, sequence = link.sequence, previous_hash = link.previous_hash, hash = link.hash
    FROM jsonb_to_recordset(${JSON.stringify(links)}::jsonb)
      AS link (id bigint, sequence bigint, previous_hash text, hash text)
    WHERE bucket.id = link.id`.execute(db)
}

async function findLastLink(
  db: Database,
  organizationId: number,
): Promise<{ sequence: number; hash: string }> {
  const last = await db
    .selectFrom('usage_buckets')
    .select(['sequence', 'hash'])
    .where('organization_id', '=', organizationId)
    .where('sequence', 'is not', null)
    .orderBy('sequence', 'desc')
    .limit(1)
    .executeTakeFirst()
  return { sequence: last?.sequence ?? 0, hash: last?.hash ?? firstPreviousHash }
}
