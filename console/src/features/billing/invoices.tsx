import { useQuery } from '@tanstack/react-query'
import { ReceiptText, Download } from 'lucide-react'
import { useState } from 'react'
import { toUrl } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { Dialog } from '../../components/dialog.tsx'
import type { Invoice } from '../../contract.ts'
import { Badge } from '../../components/badge.tsx'
import type { Tone } from '../../components/badge.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Section } from '../../components/page.tsx'
import { EmptyState } from '../../components/states.tsx'
import { Cell, HeadCell, Table } from '../../components/table.tsx'
import { formatDay, formatMinorMoney } from '../../format.ts'
import { text } from '../../text/index.ts'
import { invoicesQuery } from './queries.ts'

const proofFile = 'invoice-proof.json'

/** The invoices with links to view, pay and download them. */
export function Invoices() {
  const query = useQuery(invoicesQuery)
  const [verified, setVerified] = useState<Invoice>()
  return (
    <Section flush title={text.billing.invoices}>
      <Loaded query={query} rows={3}>
        {(invoices) =>
          invoices.length === 0 ? (
            <EmptyState icon={<ReceiptText />} title={text.billing.noInvoices}>
              {text.billing.noInvoicesHint}
            </EmptyState>
          ) : (
            <Table
              label={text.billing.invoices}
              head={
                <>
                  <HeadCell>{text.billing.invoiceDate}</HeadCell>
                  <HeadCell className="max-md:hidden">{text.billing.invoicePeriod}</HeadCell>
                  <HeadCell className="max-md:hidden">{text.billing.invoiceStatus}</HeadCell>
                  <HeadCell numeric>{text.billing.invoiceAmount}</HeadCell>
                  <HeadCell className="max-md:hidden">
                    <span className="sr-only">{text.billing.invoiceLinks}</span>
                  </HeadCell>
                </>
              }
            >
              {invoices.map((invoice) => (
                <InvoiceRow
                  key={invoice.processor_invoice_id}
                  invoice={invoice}
                  onVerify={() => setVerified(invoice)}
                />
              ))}
            </Table>
          )
        }
      </Loaded>
      {verified && <VerifyDialog invoice={verified} onClose={() => setVerified(undefined)} />}
    </Section>
  )
}

/** Offers the proof of an invoice and the command that recomputes it. */
function VerifyDialog({ invoice, onClose }: { invoice: Invoice; onClose: () => void }) {
  const url = toUrl('/v1/billing/invoices/{invoice_id}/proof', {
    path: { invoice_id: invoice.processor_invoice_id },
  })
  return (
    <Dialog
      onClose={onClose}
      title={text.billing.verifyTitle(formatDay(invoice.created))}
      description={text.billing.verifyWords}
      actions={
        <Button variant="primary" asChild>
          <a href={url} download={proofFile}>
            <Download aria-hidden />
            {text.billing.downloadProof}
          </a>
        </Button>
      }
    >
      <CodeBlock wrap label={text.billing.verifyCommand} code={`berth bill verify ${proofFile}`} />
    </Dialog>
  )
}

const tones: Record<string, Tone> = { open: 'busy', overdue: 'bad', paid: 'good', uncollectible: 'bad' }
const link = 'font-medium text-accent hover:underline'

/** On a small screen, period and status are below the date, and links are below the amount. */
function InvoiceRow({ invoice, onVerify }: { invoice: Invoice; onVerify: () => void }) {
  const { status, amount_due: due, amount_paid: paid, currency, due_date: dueDate } = invoice
  const isOpen = status === 'open'
  const standing = isOverdue(invoice) ? 'overdue' : status
  const day = formatDay(invoice.created)
  const standingBadge = (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <Badge tone={tones[standing] ?? 'neutral'}>{text.billing.invoiceStatuses[standing] ?? status}</Badge>
      {isOpen && dueDate && (
        <span className="text-[0.8125rem] whitespace-nowrap text-muted">
          {text.billing.due(formatDay(dueDate))}
        </span>
      )}
    </div>
  )
  const links = (
    <div className="flex justify-end gap-4">
      <button
        type="button"
        className={link}
        aria-label={text.billing.ofInvoice(text.billing.verify, day)}
        onClick={onVerify}
      >
        {text.billing.verify}
      </button>
      {invoice.hosted_invoice_url && (
        <a
          href={invoice.hosted_invoice_url}
          target="_blank"
          rel="noreferrer"
          className={link}
          aria-label={text.billing.ofInvoice(isOpen ? text.billing.pay : text.billing.view, day)}
        >
          {isOpen ? text.billing.pay : text.billing.view}
        </a>
      )}
      {invoice.invoice_pdf && invoice.invoice_pdf !== invoice.hosted_invoice_url && (
        <a
          href={invoice.invoice_pdf}
          target="_blank"
          rel="noreferrer"
          className={link}
          aria-label={text.billing.ofInvoice(text.billing.pdf, day)}
        >
          {text.billing.pdf}
        </a>
      )}
    </div>
  )
  return (
    <tr className="max-md:align-top">
      <Cell>
        <span className="whitespace-nowrap">{day}</span>
        <div className="grid gap-1.5 md:hidden">
          <span className="text-[0.8125rem] text-muted">{describePeriod(invoice)}</span>
          {standingBadge}
        </div>
      </Cell>
      <Cell className="whitespace-nowrap text-muted max-md:hidden">{describePeriod(invoice)}</Cell>
      <Cell className="max-md:hidden">{standingBadge}</Cell>
      <Cell numeric className="whitespace-nowrap">
        {formatMinorMoney(due, currency)}
        {paid > 0 && paid < due && (
          <div className="text-[0.8125rem] text-muted">
            {text.billing.partlyPaid(formatMinorMoney(paid, currency))}
          </div>
        )}
        <div className="mt-1.5 md:hidden">{links}</div>
      </Cell>
      <Cell className="max-md:hidden">{links}</Cell>
    </tr>
  )
}

function isOverdue({ status, due_date: dueDate }: Invoice): boolean {
  return status === 'open' && dueDate !== null && Date.parse(dueDate) < Date.now()
}

/** Formats the period. The first invoice of a subscription has an empty period. */
function describePeriod({ period_start: start, period_end: end }: Invoice): string {
  const [from, to] = [formatDay(start), formatDay(end)]
  return from === to ? from : text.billing.periodSpan(from, to)
}
