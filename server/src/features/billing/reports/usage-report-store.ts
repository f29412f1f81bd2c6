import { sql } from 'kysely'
import type { Selectable } from 'kysely'
import type { Database } from '../../../database/tables.ts'
import type { UsageReportsTable } from '../account/tables.ts'
import type { UsagePosition } from '../../metering/usage-events.ts'

export type UsageReport = Selectable<UsageReportsTable>

/** Reports with status `pending` or `unknown`: the processor may or may not have them. */
export function listUnconfirmedReports(db: Database, organizationId: number): Promise<UsageReport[]> {
  return db
    .selectFrom('usage_reports')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('status', '!=', 'sent')
    .orderBy('hour')
    .orderBy('price_key')
    .execute()
}

/** The last reported hour since `from`, by price key. Inserts are in order: earlier hours have reports. */
export async function findLastReportedHours(
  db: Database,
  organizationId: number,
  from: Date,
): Promise<Map<string, Date>> {
  const rows = await db
    .selectFrom('usage_reports')
    .select('price_key')
    .select(({ fn }) => fn.max('hour').as('hour'))
    .where('organization_id', '=', organizationId)
    .where('hour', '>=', from)
    .groupBy('price_key')
    .execute()
  return new Map(rows.map(({ price_key: priceKey, hour }) => [priceKey, hour]))
}

/** The confirmed units of a report's price and customer, and the time of the last attempt (or null). */
export async function readReportedTotals(
  db: Database,
  { organization_id: organizationId, price_key: priceKey, customer_id: customerId }: UsageReport,
): Promise<{ confirmed: number; lastAttemptAt: Date | null }> {
  const { confirmed, last_attempt_at: lastAttemptAt } = await db
    .selectFrom('usage_reports')
    .select(sql<string>`coalesce(sum(quantity) FILTER (WHERE status = 'sent'), 0)`.as('confirmed'))
    .select(sql<Date | null>`max(greatest(last_attempt_at, sent_at))`.as('last_attempt_at'))
    .where('organization_id', '=', organizationId)
    .where('price_key', '=', priceKey)
    .where('customer_id', '=', customerId)
    .executeTakeFirstOrThrow()
  return { confirmed: Number(confirmed), lastAttemptAt }
}

/** Inserts a report before its first attempt; undefined if one exists. `deferral`: why it waits. */
export function insertReport(
  db: Database,
  report: Pick<
    UsageReport,
    'organization_id' | 'price_key' | 'hour' | 'identifier' | 'customer_id' | 'quantity' | 'at'
  >,
  now: Date,
  deferral: { since: Date; reason: string } | null,
): Promise<UsageReport | undefined> {
  const at = deferral?.since ?? now
  const state =
    deferral === null
      ? ({ status: 'pending' } as const)
      : ({ status: 'unknown', attempts: 0, last_error: deferral.reason } as const)
  return db
    .insertInto('usage_reports')
    .values({ ...report, ...state, first_attempt_at: at, last_attempt_at: at })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst()
}

/** Claims a report for an attempt with the event time `at`; undefined if another process was first. */
export function claimReport(
  db: Database,
  { identifier, last_attempt_at: last, attempts }: UsageReport,
  changes: { at: Date; now: Date; isFirst: boolean },
): Promise<UsageReport | undefined> {
  const { at, now, isFirst } = changes
  return db
    .updateTable('usage_reports')
    .set({
      at,
      last_attempt_at: now,
      attempts: attempts + 1,
      ...(isFirst ? { first_attempt_at: now } : {}),
    })
    .where('identifier', '=', identifier)
    .where('status', '!=', 'sent')
    .where('attempts', '=', attempts)
    .where('last_attempt_at', '=', last)
    .returningAll()
    .executeTakeFirst()
}

export async function markSent(db: Database, identifiers: readonly string[], now: Date): Promise<void> {
  if (identifiers.length === 0) return
  await db
    .updateTable('usage_reports')
    .set({ status: 'sent', sent_at: now, last_error: null })
    .where('identifier', 'in', identifiers)
    .where('status', '!=', 'sent')
    .execute()
}

/** Moves the account's cursor forward: every billable hour before `from` has a report. */
export async function advanceReportCursor(
  db: Database,
  organizationId: number,
  { from, remainders }: UsagePosition,
): Promise<void> {
  await db
    .updateTable('billing_accounts')
    .set({ usage_reported_through: from, usage_remainders: JSON.stringify(remainders) })
    .where('organization_id', '=', organizationId)
    .where((where) =>
      where.or([where('usage_reported_through', 'is', null), where('usage_reported_through', '<', from)]),
    )
    .execute()
}
