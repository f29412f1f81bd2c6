import { buffer } from 'node:stream/consumers'
import PdfDocument from 'pdfkit'
import { formatAmount } from '../amounts.ts'
import type { Invoice } from '../object-types.ts'
import { describeStatus, formatDate, formatQuantity, formatUnitPrice } from './words.ts'

const left = 56
/** Right edges of the columns */
const columns = { description: 250, quantity: 340, unitPrice: 440, amount: 539 }

/** An invoice on A4, in the fonts that every PDF reader has. */
export async function renderInvoicePdf(invoice: Invoice): Promise<Buffer> {
  const { currency, amount_due: due, amount_paid: paid } = invoice
  const issued = invoice.effective_at ?? invoice.created
  const date = new Date(issued * 1000)
  const document = new PdfDocument({
    size: 'A4',
    margin: left,
    info: { Title: `Invoice ${invoice.number}`, Author: 'Sandbox', CreationDate: date, ModDate: date },
  })
  const finished = buffer(document)
  document.font('Helvetica-Bold').fontSize(20).text(`Invoice ${invoice.number}`)
  document.font('Helvetica').fontSize(10).fillColor('#8a5a00').text('Sandbox: no real charges').moveDown()
  document.fillColor('#000000')
  const facts: [string, string | null][] = [
    ['Customer', invoice.customer_name ?? invoice.customer_email],
    ['Issued', formatDate(issued)],
    ['Period', `${formatDate(invoice.period_start)} to ${formatDate(invoice.period_end)}`],
    ['Due', invoice.due_date === null ? null : formatDate(invoice.due_date)],
    ['Status', describeStatus(invoice)],
  ]
  for (const [name, value] of facts) {
    if (value !== null) document.text(`${name}: ${printable(value)}`)
  }
  document.moveDown()
  row(document, 'Helvetica-Bold', ['Description', 'Quantity', 'Unit price', 'Amount'])
  for (const line of invoice.lines.data) {
    const amount = formatAmount(line.amount, currency)
    row(document, 'Helvetica', [line.description, formatQuantity(line), formatUnitPrice(line), amount])
  }
  row(document, 'Helvetica-Bold', ['Total', '', '', formatAmount(due, currency)])
  row(document, 'Helvetica', ['Paid', '', '', formatAmount(paid, currency)])
  row(document, 'Helvetica-Bold', ['Amount due', '', '', formatAmount(due - paid, currency)])
  document.end()
  return finished
}

function row(document: PDFKit.PDFDocument, font: string, cells: [string, string, string, string]): void {
  const [description, quantity, unitPrice, amount] = cells.map(printable) as typeof cells
  document.font(font).fontSize(10)
  const width = columns.description - left
  const height = document.heightOfString(description, { width })
  if (document.y + height > document.page.height - left) document.addPage()
  const { y } = document
  const right = (text: string, from: number, to: number) =>
    document.text(text, from + 8, y, { width: to - from - 8, align: 'right' })
  document.text(description, left, y, { width })
  right(quantity, columns.description, columns.quantity)
  right(unitPrice, columns.quantity, columns.unitPrice)
  right(amount, columns.unitPrice, columns.amount)
  document.x = left
  document.y = y + height + 6
}

/** The standard fonts have Latin letters only; any other letter becomes `?` instead of a wrong one. */
function printable(text: string): string {
  return text.normalize('NFC').replaceAll(/[^\u0020-\u007e\u00a0-\u00ff€•]/g, '?')
}
