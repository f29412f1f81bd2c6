import { buffer } from 'node:stream/consumers'
import PdfDocument from 'pdfkit'
import type { Stripe } from 'stripe'
import { formatAmount } from '../../decimal.ts'
import { formatDate, formatUnit, usedLines } from './words.ts'

const left = 56
const right = 539
const columns = { price: 330, amount: 440 }

/** An invoice on A4, in the fonts that every reader of PDF has. */
export async function renderInvoicePdf(invoice: Stripe.Invoice): Promise<Buffer> {
  const issued = new Date((invoice.effective_at ?? invoice.created) * 1000)
  const document = new PdfDocument({
    size: 'A4',
    margin: left,
    info: { Title: `Invoice ${invoice.number}`, Author: 'Sandbox', CreationDate: issued, ModDate: issued },
  })
  const finished = buffer(document)
  document.font('Helvetica-Bold').fontSize(20).text(`Invoice ${invoice.number}`)
  document.font('Helvetica').fontSize(10).fillColor('#8a5a00').text('Sandbox: nothing is charged').moveDown()
  document.fillColor('#000000')
  const facts: [string, string | null][] = [
    ['For', invoice.customer_name ?? invoice.customer_email],
    ['Issued', formatDate(invoice.effective_at ?? invoice.created)],
    ['Period', `${formatDate(invoice.period_start)} to ${formatDate(invoice.period_end)}`],
    ['Due', invoice.due_date === null ? null : formatDate(invoice.due_date)],
    ['Status', invoice.status],
  ]
  for (const [name, value] of facts) {
    if (value !== null) document.text(`${name}: ${printable(value)}`)
  }
  document.moveDown()
  row(document, 'Helvetica-Bold', 'What', 'Price for one', 'Amount')
  for (const line of usedLines(invoice)) {
    const amount = formatAmount(line.amount, line.currency)
    row(document, 'Helvetica', line.description ?? '', formatUnit(line), amount)
  }
  row(document, 'Helvetica-Bold', 'Total', '', formatAmount(invoice.total, invoice.currency))
  row(document, 'Helvetica', 'Paid', '', formatAmount(invoice.amount_paid, invoice.currency))
  row(document, 'Helvetica-Bold', 'Due', '', formatAmount(invoice.amount_remaining, invoice.currency))
  document.end()
  return finished
}

function row(document: PDFKit.PDFDocument, font: string, what: string, price: string, amount: string): void {
  document.font(font).fontSize(10)
  const text = printable(what)
  const width = columns.price - left - 12
  const height = document.heightOfString(text, { width })
  if (document.y + height > document.page.height - left) document.addPage()
  const { y } = document
  document.text(text, left, y, { width })
  document.text(printable(price), columns.price, y, {
    width: columns.amount - columns.price - 8,
    align: 'right',
  })
  document.text(printable(amount), columns.amount, y, { width: right - columns.amount, align: 'right' })
  document.x = left
  document.y = y + height + 6
}

/** The standard fonts know Latin letters alone; a letter that they don't have must not become another one. */
function printable(text: string): string {
  return text.normalize('NFC').replaceAll(/[^\u0020-\u007e\u00a0-\u00ff€•]/g, '?')
}
