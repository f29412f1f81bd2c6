import { sql } from 'kysely'
import type { Services } from '../../../services.ts'
import type { Database } from '../../../database/tables.ts'
import { ApplicationError } from '../../../base/errors.ts'
import type { InvoicedUsage } from '../../../ports/payment-processor.ts'
import { formatDecimal } from '../../../base/decimal.ts'
import { addHours, earliest, latest } from '../../metering/hours.ts'
import { openProof, toWholeHours } from '../../metering/proof.ts'
import { callProcessor } from '../account/errors.ts'
import { isChargedBy } from '../processor/event-time.ts'
import { ensureAccount } from '../account/store.ts'
import type { BillingAccount } from '../account/store.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'log' | 'payments'>

/** Writes the hours of an invoice, late ones included, with the processor's lines. Throws `not_found`. */
export async function openInvoiceProof(
  deps: Deps,
  organizationId: number,
  invoiceId: string,
): Promise<AsyncIterable<string>> {
  const { db, config, clock } = deps
  const account = await ensureAccount(db, config, organizationId, clock())
  const { processor_customer_id: customerId } = account
  if (customerId === null) throw unknownInvoice()
  const invoice = await findInvoice(deps, customerId, invoiceId)
  const hours = await listHours(db, account, invoice)
  const charged = hours.filter(({ isCharged }) => isCharged).map(({ hour }) => hour)
  const period = toWholeHours({ from: invoice.periodStart, to: invoice.periodEnd })
  const range = {
    from: earliest(period.from, ...charged),
    to: latest(period.to, ...charged.map((hour) => addHours(hour, 1))),
  }
  const excluded = hours
    .filter(({ isCharged, hour }) => !isCharged && hour >= range.from && hour < range.to)
    .map(({ sequence }) => sequence)
  const prices = Map.groupBy(hours, ({ priceKey }) => priceKey)
  const lines = invoice.lines.map(({ priceKey, quantity, unitAmount, amount }) => {
    const own = prices.get(priceKey) ?? []
    return {
      meter: own[0]?.meter ?? priceKey,
      dimensions: listCommon(own.map(({ dimensions }) => dimensions)),
      price: unitAmount,
      quantity: formatDecimal(quantity),
      amount,
    }
  })
  const { periodStart: start, periodEnd: end } = invoice
  return openProof(deps, organizationId, range, {
    invoice: { id: invoiceId, period_start: start, period_end: end },
    lines: lines.filter(({ quantity }) => quantity !== '0'),
    excluded,
  })
}

/** The dimensions that all have: a price of tokens may be for several models. */
function listCommon([first = {}, ...others]: readonly Readonly<Record<string, string>>[]) {
  return Object.fromEntries(
    Object.entries(first).filter(([name, value]) => others.every((other) => other[name] === value)),
  )
}

async function findInvoice(
  { payments, log }: Deps,
  customerId: string,
  invoiceId: string,
): Promise<InvoicedUsage> {
  return callProcessor(log, async () => {
    const listed = (await payments.listInvoices(customerId)).find(({ id }) => id === invoiceId)
    const usage = listed && (await payments.findInvoicedUsage(invoiceId))
    if (!usage) throw unknownInvoice()
    return usage
  })
}

function unknownInvoice(): ApplicationError {
  return new ApplicationError('not_found', 'There is no such invoice.')
}

interface InvoiceHour {
  sequence: number
  hour: Date
  priceKey: string
  meter: string
  dimensions: Readonly<Record<string, string>>
  isCharged: boolean
}

/** The sealed hours around an invoice's period. It charges those with a meter event in its period. */
async function listHours(
  db: Database,
  account: BillingAccount,
  invoice: InvoicedUsage,
): Promise<InvoiceHour[]> {
  const { organization_id: organizationId } = account
  const { periodStart, periodEnd } = invoice
  const { from, to } = toWholeHours({ from: periodStart, to: periodEnd })
  const { rows } = await sql<InvoiceHour>`
    SELECT bucket.sequence, bucket.hour, bucket.price_key AS "priceKey", bucket.meter, bucket.dimensions,
      ${isChargedBy(account, invoice)} AS "isCharged"
    FROM usage_buckets AS bucket LEFT JOIN usage_reports AS report
      ON report.organization_id = bucket.organization_id AND report.price_key = bucket.price_key AND report.hour = bucket.hour
    WHERE bucket.organization_id = ${organizationId} AND bucket.sequence IS NOT NULL
      AND bucket.hour >= least(${from}::timestamptz, (SELECT min(hour) FROM usage_reports
        WHERE organization_id = ${organizationId} AND at >= ${periodStart} AND at < ${periodEnd}))
      AND bucket.hour < ${to}
    ORDER BY bucket.sequence`.execute(db)
  return rows
}
