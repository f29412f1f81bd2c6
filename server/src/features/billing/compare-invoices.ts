import { sql } from 'kysely'
import type { Services } from '../../services.ts'
import type { Database } from '../../database/tables.ts'
import type { InvoicedUsage } from '../../ports/payment-processor.ts'
import { add, formatDecimal, subtract } from '../metering/decimal.ts'
import { floorHour } from '../metering/hours.ts'
import { eventTime } from './event-time.ts'
import { listPostpaidAccounts } from './store.ts'
import type { BillingAccount } from './store.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'log' | 'payments'>

/** The last hour of a period is sealed after 15 minutes and reported within the next ten. */
const reportedMilliseconds = 25 * 60_000
/** Processors finalize an invoice after an hour, or after at most three days if the operator has set that. */
const finalizedMilliseconds = 4 * 86_400_000

/**
 * Compares the invoices of periods that ended recently with the ledger: drafts at every run, so that a difference is known before
 * an invoice is final, and the final invoice once.
 */
export async function compareInvoices(deps: Deps): Promise<void> {
  const now = deps.clock().getTime()
  for (const account of await listPostpaidAccounts(deps.db)) {
    const { organization_id: organization, current_period_start: periodEnd } = account
    if (periodEnd === null) continue
    const age = now - periodEnd.getTime()
    if (age < reportedMilliseconds || age > finalizedMilliseconds) continue
    try {
      await compareInvoice(deps, account, periodEnd)
    } catch (error) {
      deps.log.error({ err: error, organization }, 'an invoice could not be compared with the ledger')
    }
  }
}

async function compareInvoice(
  { db, clock, payments }: Deps,
  {
    organization_id: organizationId,
    processor_customer_id: customerId,
    postpaid_since: since,
  }: BillingAccount,
  periodEnd: Date,
): Promise<void> {
  // The first period has no invoice before it.
  if (customerId === null || since === null || periodEnd <= since) return
  if (await isCompared(db, organizationId, periodEnd)) return
  const invoice = await payments.findInvoicedUsage(customerId, periodEnd)
  if (invoice === null) return
  const used = await listBilledUsage(db, organizationId, customerId, since, invoice)
  const values = {
    organization_id: organizationId,
    invoice_id: invoice.invoiceId,
    period_end: periodEnd,
    is_final: invoice.isFinal,
    compared_at: clock(),
    difference: describeDifference(used, invoice),
  }
  await db
    .insertInto('invoice_comparisons')
    .values(values)
    .onConflict((conflict) => conflict.columns(['organization_id', 'period_end']).doUpdateSet(values))
    .execute()
}

async function isCompared(db: Database, organizationId: number, periodEnd: Date): Promise<boolean> {
  const final = await db
    .selectFrom('invoice_comparisons')
    .select('invoice_id')
    .where('organization_id', '=', organizationId)
    .where('period_end', '=', periodEnd)
    .where('is_final', '=', true)
    .executeTakeFirst()
  return final !== undefined
}

type BilledUsage = Omit<InvoicedUsage['lines'][number], 'amount'>

/** The ledger's paid usage whose meter events have a time in the invoice's period, by price. */
async function listBilledUsage(
  db: Database,
  organizationId: number,
  customerId: string,
  since: Date,
  { periodStart, periodEnd }: InvoicedUsage,
): Promise<BilledUsage[]> {
  const { rows } = await sql<{ price_key: string; unit_amount: string; quantity: string }>`
    SELECT bucket.price_key, bucket.unit_amount, sum(bucket.quantity) AS quantity
    FROM usage_buckets AS bucket LEFT JOIN usage_reports AS report
      ON report.organization_id = bucket.organization_id AND report.price_key = bucket.price_key AND report.hour = bucket.hour
    WHERE bucket.organization_id = ${organizationId} AND bucket.sealed_at IS NOT NULL AND bucket.unit_amount > 0
      AND bucket.hour >= ${floorHour(since)}::timestamptz AND NOT bucket.before_charging AND coalesce(report.customer_id, ${customerId}) = ${customerId}
      AND ${eventTime} >= ${periodStart}::timestamptz AND ${eventTime} < ${periodEnd}::timestamptz
    GROUP BY bucket.price_key, bucket.unit_amount`.execute(db)
  return rows.map(({ price_key: priceKey, unit_amount: unitAmount, quantity }) => ({
    priceKey,
    quantity,
    unitAmount: formatDecimal(unitAmount),
  }))
}

/**
 * One sentence about all prices whose usage differs; null when there is none. Processors count whole units, so less than one unit
 * is no difference.
 */
export function describeDifference(
  used: readonly BilledUsage[],
  { invoiceId, periodStart, periodEnd, lines }: InvoicedUsage,
): string | null {
  const theirs = sumByPrice(lines)
  const ours = sumByPrice(used)
  const differing = [...new Set([...ours.keys(), ...theirs.keys()])].toSorted().filter((price) => {
    const difference = subtract(ours.get(price) ?? '0', theirs.get(price) ?? '0')
    return Math.abs(Number(difference)) >= 1
  })
  if (differing.length === 0) return null
  const parts = differing.map(
    (price) =>
      `${ours.get(price) ?? '0'} units of ${price} were used, but ${theirs.get(price) ?? '0'} are invoiced`,
  )
  const period = `${periodStart.toISOString()} to ${periodEnd.toISOString()}`
  return `Invoice ${invoiceId} of ${period} differs from the ledger: ${parts.join('; ')}.`
}

/** Quantities by price key and amount. */
function sumByPrice(usage: readonly BilledUsage[]): Map<string, string> {
  const sums = new Map<string, string>()
  for (const { priceKey, unitAmount, quantity } of usage) {
    const price = `${priceKey} at ${unitAmount}`
    sums.set(price, formatDecimal(add(sums.get(price) ?? '0', quantity)))
  }
  return sums
}
