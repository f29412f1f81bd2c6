import { sql } from 'kysely'
import type { Database } from '../../database/tables.ts'
import { add, multiply } from '../../base/decimal.ts'
import { listTariffs } from './endpoint-prices.ts'
import { floorHour } from './hours.ts'
import type { InstanceSpan, OpenLedger } from './ledger.ts'
import { shareSince } from './share-since.ts'
import { toSpan, toTokens } from './store.ts'

/** The usage of an organization that counts as spent. */
export interface SpendingScope {
  organizationId: number
  /** The first hour */
  from: Date
  /** The hour after the last */
  to: Date
  /** Omits usage before charging began, in the hour in which it began */
  chargedOnly: boolean
  /** The time 24 hours ago */
  dayBefore: Date
}

interface SealedSpending {
  organizationId: number
  deploymentId: string
  spent: string
  recent: string
}

/** Sums sealed usage by deployment in one statement. Includes only usage priced in `currency`. */
export async function sumSealedSpending(
  db: Database,
  scopes: readonly SpendingScope[],
  currency: string,
): Promise<SealedSpending[]> {
  const [{ dayBefore } = { dayBefore: new Date(0) }] = scopes
  const firstHour = floorHour(dayBefore)
  const wanted = JSON.stringify(
    scopes.map((scope) => ({
      organization_id: scope.organizationId,
      starts: scope.from,
      ends: scope.to,
      charged_only: scope.chargedOnly,
    })),
  )
  const { rows } = await sql<{
    organization_id: number
    deployment_id: string
    spent: string
    recent: string
    first: string
  }>`
    SELECT bucket.organization_id, bucket.deployment_id,
      coalesce(sum(quantity * unit_amount) FILTER (WHERE hour >= starts AND hour < ends
        AND NOT (charged_only AND before_charging)), 0) AS spent,
      coalesce(sum(quantity * unit_amount) FILTER (WHERE hour > ${firstHour}), 0) AS recent,
      coalesce(sum(quantity * unit_amount) FILTER (WHERE hour = ${firstHour}), 0) AS first
    FROM jsonb_to_recordset(${wanted}::jsonb)
      AS scope (organization_id bigint, starts timestamptz, ends timestamptz, charged_only boolean)
    JOIN usage_buckets AS bucket ON bucket.organization_id = scope.organization_id
      AND bucket.hour >= least(scope.starts, ${firstHour})
    WHERE bucket.sealed_at IS NOT NULL AND bucket.currency = ${currency}
    GROUP BY bucket.organization_id, bucket.deployment_id`.execute(db)
  const share = shareSince(firstHour, dayBefore)
  return rows.map(({ organization_id: organizationId, deployment_id: deploymentId, ...row }) => ({
    organizationId,
    deploymentId,
    spent: row.spent,
    recent: add(row.recent, multiply(row.first, share)),
  }))
}

/** The unsealed usage of organizations, by organization, with the spans of instances that don't serve yet. */
export async function loadOpenUsage(
  db: Database,
  organizationIds: readonly number[],
): Promise<Map<number, { ledger: OpenLedger; unconfirmed: InstanceSpan[] }>> {
  const isWanted = sql<boolean>`usage_cursors.organization_id = ANY(${organizationIds})`
  const cursors = await db.selectFrom('usage_cursors').selectAll().where(isWanted).execute()
  const spans = await db
    .selectFrom('instance_spans')
    .innerJoin('usage_cursors', 'usage_cursors.organization_id', 'instance_spans.organization_id')
    .selectAll('instance_spans')
    .where(isWanted)
    .where('voided_at', 'is', null)
    .where((where) =>
      where.or([where('ended_at', 'is', null), where('ended_at', '>', where.ref('sealed_through'))]),
    )
    .orderBy('instance_spans.id')
    .execute()
  const tokens = await db
    .selectFrom('token_usage')
    .innerJoin('usage_cursors', 'usage_cursors.organization_id', 'token_usage.organization_id')
    .selectAll('token_usage')
    .where(isWanted)
    .whereRef('hour', '>=', 'sealed_through')
    .execute()
  const tariffs = await listTariffs(db, { organizationIds })
  const spansOf = Map.groupBy(spans, (span) => span.organization_id)
  const tokensOf = Map.groupBy(tokens, (row) => row.organization_id)
  return new Map(
    cursors.map(({ organization_id: id, sealed_through: sealedThrough, charged_since: chargedSince }) => {
      const [confirmed, unconfirmed] = split(spansOf.get(id) ?? [], (span) => span.confirmed_at !== null)
      const ledger: OpenLedger = {
        sealedThrough,
        chargedSince,
        spans: confirmed.map(toSpan),
        tokens: (tokensOf.get(id) ?? []).map(toTokens),
        tariffs,
        undecidedSince: null,
      }
      return [id, { ledger, unconfirmed: unconfirmed.map(toSpan) }]
    }),
  )
}

function split<Item>(items: readonly Item[], test: (item: Item) => boolean): [Item[], Item[]] {
  return [items.filter(test), items.filter((item) => !test(item))]
}
