import { readFile } from 'node:fs/promises'
import type { Invoice } from '../../../console/src/contract.ts'
import { connectClient } from '../api/connect.ts'
import type { Context } from '../base/context.ts'
import { CommandError, describeFileError, usageError } from '../base/errors.ts'
import type { Output } from '../base/output.ts'
import { asSentence } from '../base/text.ts'
import { describeTotal } from './usage.ts'

/** Shows the billing account, the usage so far, and the invoices. */
export async function bill({ env, output }: Context): Promise<void> {
  const client = await connectClient(env)
  const [account, summary, invoices] = await Promise.all([
    client.call('GET', '/v1/billing/account'),
    client.call('GET', '/v1/billing/usage-summary'),
    client.call('GET', '/v1/billing/invoices'),
  ])
  output.result({ account, summary, invoices }, () => {
    output.facts([
      ['Plan', account.billing_mode],
      ['Status', account.status],
      ['Subscription', account.subscription_status],
      ['From', summary.period_start],
      ['To', summary.period_end],
    ])
    printSection(output, ['USAGE', 'OF', 'QUANTITY', 'AMOUNT'], summary.usage_totals.map(describeTotal))
    printSection(output, ['INVOICE', 'STATUS', 'FROM', 'TO', 'DUE', 'PAID'], invoices.map(describeInvoice))
  })
}

function printSection(output: Output, header: readonly string[], rows: readonly string[][]): void {
  if (rows.length === 0) return
  output.line('')
  output.table(header, rows)
}

function describeInvoice(invoice: Invoice): string[] {
  const { processor_invoice_id: id, status, period_start: from, period_end: to, currency } = invoice
  const money = formatMoney(currency)
  const day = (timestamp: string) => timestamp.slice(0, 10)
  return [id, status, day(from), day(to), money(invoice.amount_due), money(invoice.amount_paid)]
}

/** Formats amounts in the smallest unit of a currency, which has as many decimals as Intl knows. */
function formatMoney(currency: string): (amount: number) => string {
  const format = new Intl.NumberFormat('en-US', { style: 'currency', currency, currencyDisplay: 'code' })
  const { maximumFractionDigits: decimals = 2 } = format.resolvedOptions()
  return (amount) => format.format(amount / 10 ** decimals)
}

interface ProofOptions {
  invoice?: string
  from?: string
  to?: string
}

/** Prints the proof of an invoice, or of the usage of whole hours. */
export async function printProof(
  { env, output }: Context,
  { invoice, from, to }: ProofOptions,
): Promise<void> {
  const client = await connectClient(env)
  if (invoice !== undefined) {
    const path = { invoice_id: invoice }
    return output.line(
      JSON.stringify(await client.call('GET', '/v1/billing/invoices/{invoice_id}/proof', { path })),
    )
  }
  if (from === undefined || to === undefined) {
    throw usageError('Choose an --invoice, or a range with --from and --to.')
  }
  output.line(JSON.stringify(await client.call('GET', '/v1/billing/usage/proof', { query: { from, to } })))
}

/** Recomputes the proof of a bill, without a server. */
export async function verifyBill({ output }: Context, path: string): Promise<void> {
  const { verifyProof } = await import('../bill/verify.ts')
  const verdict = verifyProof(await readJson(path))
  if (verdict.difference !== null) throw new CommandError(`The proof differs: ${verdict.difference}`)
  const { proof, lines } = verdict
  const { hours, from, to, currency, invoice, organization_id: organization } = proof
  const last = hours.at(-1)
  const summary = {
    organization_id: organization,
    from,
    to,
    currency,
    hours: hours.length,
    lines: proof.lines,
    last_hash: last?.hash ?? null,
  }
  const { id, period_start, period_end } = invoice ?? {}
  const ofInvoice = invoice === undefined ? null : { id, period_start, period_end, lines }
  output.result({ ...summary, invoice: ofInvoice }, () => {
    output.line(
      `Proof of the ${invoice ? 'invoice' : 'usage'} of organization ${organization}, in ${currency}.`,
    )
    output.line(`${hours.length} sealed hours from ${from} to ${to} agree with spans, tokens and prices.`)
    for (const { meter, dimensions, quantity, unit, amount } of proof.lines) {
      output.line(
        `  ${[meter, ...Object.values(dimensions)].join(' ')}: ${quantity} ${unit}s, ${amount} ${currency}`,
      )
    }
    if (last) output.line(`Last hash: ${last.hash} (hour ${last.sequence})`)
    if (invoice) {
      output.line(
        `Invoice ${invoice.id} from ${invoice.period_start} to ${invoice.period_end} at the payment processor:`,
      )
    }
    for (const line of lines) {
      output.line(
        `  ${line.name} at ${line.price}: ${line.amount} exact, ${line.processorAmount} charged for ` +
          `${line.processorQuantity} units, rounding ${line.difference}`,
      )
    }
  })
}

async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'))
  } catch (error) {
    throw new CommandError(`${path} can't be read as JSON: ${asSentence(describeFileError(error))}`)
  }
}
