import { sql } from 'kysely'
import type { Selectable } from 'kysely'
import type { Services } from '../../../services.ts'
import type { Database } from '../../../database/tables.ts'
import type { InvoicedUsage, UsageInvoice } from '../../../ports/payment-processor.ts'
import { formatDecimal } from '../../../base/decimal.ts'
import { isChargedBy } from '../processor/event-time.ts'
import { describeDifference } from './invoice-difference.ts'
import type { BilledUsage } from './invoice-difference.ts'
import { getAccountOf } from '../account/store.ts'
import { findSweptUntil, setSweptUntil } from '../processor/sweep-store.ts'
import type { InvoiceComparisonsTable } from '../account/tables.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'log' | 'payments'>

const day = 86_400_000
/** Invoices that the first sweep lists, and the first one after an outage. */
const listedMilliseconds = 90 * day
/** Overlap of two sweeps, because the processor may list an invoice late. */
const overlapMilliseconds = 3_600_000
/** The last hour of a period is sealed after 15 minutes and reported within the next ten. */
const reportedMilliseconds = 25 * 60_000
/** Processors finalize invoices within three days. Older drafts wait for a person; compare them daily. */
const finalizedMilliseconds = 4 * day

/**
 * Compares the processor's new invoices with the ledger: drafts at every run, to know a difference before an
 * invoice is final, and each final invoice once. The processor lists them, so the last invoice of a canceled
 * subscription and those of an outage are included.
 */
export async function compareInvoices(deps: Deps): Promise<void> {
  try {
    await storeNewInvoices(deps)
  } catch (error) {
    deps.log.error({ err: error }, 'the invoices of the payment processor could not be listed')
  }
  for (const comparison of await listDueComparisons(deps)) {
    try {
      await compareInvoice(deps, comparison)
    } catch (error) {
      const { organization_id: organization, invoice_id: invoice } = comparison
      deps.log.error(
        { err: error, organization, invoice },
        'an invoice could not be compared with the ledger',
      )
    }
  }
}

async function storeNewInvoices({ db, clock, payments }: Deps): Promise<void> {
  const startedAt = clock()
  const sweptUntil = await findSweptUntil(db, payments.account, 'invoices')
  const since = Math.max(
    startedAt.getTime() - listedMilliseconds,
    (sweptUntil?.getTime() ?? 0) - overlapMilliseconds,
  )
  await insertComparisons(db, await Array.fromAsync(payments.listUsageInvoices(new Date(since))))
  await setSweptUntil(db, payments.account, 'invoices', startedAt)
}

/** Inserts the invoices of postpaid organizations; the processor's account may have other customers. */
async function insertComparisons(db: Database, invoices: readonly UsageInvoice[]): Promise<void> {
  if (invoices.length === 0) return
  await sql`
    INSERT INTO invoice_comparisons (invoice_id, organization_id, created_at)
    SELECT invoice.id, account.organization_id, invoice.created_at
    FROM unnest(${invoices.map(({ id }) => id)}::text[], ${invoices.map(({ customerId }) => customerId)}::text[],
      ${invoices.map(({ created }) => created.toISOString())}::timestamptz[]) AS invoice (id, customer_id, created_at)
    JOIN billing_accounts AS account ON account.processor_customer_id = invoice.customer_id
    WHERE account.billing_mode = 'postpaid'
    ON CONFLICT DO NOTHING`.execute(db)
}

type Comparison = Selectable<InvoiceComparisonsTable>

function listDueComparisons({ db, clock }: Deps): Promise<Comparison[]> {
  const before = (milliseconds: number) => new Date(clock().getTime() - milliseconds)
  return db
    .selectFrom('invoice_comparisons')
    .selectAll()
    .where('is_final', '=', false)
    .where('created_at', '<=', before(reportedMilliseconds))
    .where((where) =>
      where.or([
        where('compared_at', 'is', null),
        where('compared_at', '<=', before(day)),
        where('created_at', '>', before(finalizedMilliseconds)),
      ]),
    )
    .orderBy('created_at')
    .execute()
}

async function compareInvoice({ db, clock, payments }: Deps, comparison: Comparison): Promise<void> {
  const { invoice_id: invoiceId, organization_id: organizationId } = comparison
  const invoice = await payments.findInvoicedUsage(invoiceId)
  // Drafts can be deleted at the processor.
  if (invoice === null) {
    await db.deleteFrom('invoice_comparisons').where('invoice_id', '=', invoiceId).execute()
    return
  }
  const difference = describeDifference(await listBilledUsage(db, organizationId, invoice), invoice)
  await db
    .updateTable('invoice_comparisons')
    .set({ is_final: invoice.isFinal, compared_at: clock(), difference })
    .where('invoice_id', '=', invoiceId)
    .where('is_final', '=', false)
    .execute()
}

/** The ledger's paid usage that the invoice has to charge, by price. */
async function listBilledUsage(
  db: Database,
  organizationId: number,
  invoice: InvoicedUsage,
): Promise<BilledUsage[]> {
  const account = await getAccountOf(db, organizationId)
  const { rows } = await sql<{ price_key: string; unit_amount: string; quantity: string }>`
    SELECT bucket.price_key, bucket.unit_amount, sum(bucket.quantity) AS quantity
    FROM usage_buckets AS bucket LEFT JOIN usage_reports AS report
      ON report.organization_id = bucket.organization_id AND report.price_key = bucket.price_key AND report.hour = bucket.hour
    WHERE bucket.organization_id = ${organizationId} AND bucket.sealed_at IS NOT NULL AND bucket.unit_amount > 0
      AND ${isChargedBy(account, invoice)}
    GROUP BY bucket.price_key, bucket.unit_amount`.execute(db)
  return rows.map(({ price_key: priceKey, unit_amount: unitAmount, quantity }) => ({
    priceKey,
    quantity,
    unitAmount: formatDecimal(unitAmount),
  }))
}
