import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { formatAmount } from '../amounts.ts'
import { chargeInvoice } from '../collection.ts'
import type { Invoice, PaymentMethod } from '../object-types.ts'
import { findObject, getObject, listObjects } from '../objects.ts'
import type { Change } from '../store.ts'
import { testCardOf } from '../test-cards.ts'
import {
  cardInputs,
  createEnteredCard,
  isEnteredCard,
  parseCard,
  prefill,
  readCardFields,
  testCardList,
  verificationPage,
  wasEnteredOn,
} from './card-form.ts'
import type { CardFields, CardProblems, EnteredCard } from './card-form.ts'
import { findBySecret, formOf, notFound, pathOf, show } from './context.ts'
import type { PageContext } from './context.ts'
import { html } from './html.ts'
import type { Html } from './html.ts'
import { renderInvoicePdf } from './invoice-pdf.ts'
import { describeCard, describeStatus, formatDate, formatQuantity, formatUnitPrice } from './words.ts'

/** The page of an invoice with its payment form, and its PDF. */
export function invoicePages(app: FastifyInstance, context: PageContext): void {
  const { store } = context

  async function findInvoice(request: FastifyRequest): Promise<Invoice> {
    const invoice = await findBySecret(context, 'invoice', request)
    if (invoice.status === 'draft') throw notFound()
    return invoice
  }

  app.get('/invoices/:secret', { schema: { hide: true } }, async (request, reply) => {
    const { card } = request.query as { card?: string }
    return showInvoice(request, reply, await findInvoice(request), prefill(card, store.clock()), {}, null)
  })

  app.get('/invoices/:secret/pdf', { schema: { hide: true } }, async (request, reply) => {
    const invoice = await findInvoice(request)
    return reply
      .headers({
        'cache-control': 'no-store',
        'content-disposition': `inline; filename="${invoice.number}.pdf"`,
        'x-content-type-options': 'nosniff',
      })
      .type('application/pdf')
      .send(await renderInvoicePdf(invoice))
  })

  app.post('/invoices/:secret/pay', { schema: { hide: true } }, async (request, reply) => {
    const invoice = await findInvoice(request)
    const page = pathOf(request).replace(/\/pay$/, '')
    if (invoice.status !== 'open') return reply.redirect(page, 303)
    const form = formOf(request)
    const fields = readCardFields(form)
    const entered = form.card === undefined ? parseCard(fields, store.clock()) : null
    if (entered !== null && !isEnteredCard(entered)) {
      return showInvoice(request, reply, invoice, fields, entered, null)
    }
    const result = await store.change((change) => pay(change, invoice.id, entered, form))
    if (result.outcome === 'paid') return reply.redirect(page, 303)
    if (result.outcome === 'refused') {
      const empty = prefill(undefined, store.clock())
      return showInvoice(request, reply, invoice, empty, {}, result.message)
    }
    const purpose = `pay ${formatAmount(invoice.amount_due, invoice.currency)}`
    const body = verificationPage(pathOf(request), purpose, result.cardId)
    return show(context, reply, 'Bank verification', body)
  })

  async function showInvoice(
    request: FastifyRequest,
    reply: FastifyReply,
    invoice: Invoice,
    fields: CardFields,
    problems: CardProblems,
    refusal: string | null,
  ): Promise<FastifyReply> {
    const path = pathOf(request).replace(/\/pay$/, '')
    const cards = await listObjects(store.db, 'payment_method', { customer: invoice.customer })
    const amount = formatAmount(invoice.amount_due, invoice.currency)
    const payment = html`<section aria-labelledby="pay">
        <h2 id="pay">Pay ${amount}</h2>
        ${refusal !== null && html`<p class="alert" role="alert">${refusal}</p>`}
        ${
          cards.length > 0 &&
          html`<form method="post" action="${path}/pay">
            <label for="card">Saved card</label>
            <select id="card" name="card">
              ${cards.map((card) => html`<option value="${card.id}">${describeCard(card)}</option>`)}
            </select>
            <button class="wide">Pay with this card</button>
          </form>`
        }
      </section>
      <section aria-labelledby="other">
        <h2 id="other">Pay with another card</h2>
        <form method="post" action="${path}/pay" novalidate>
          ${cardInputs(fields, problems)}<button class="wide">Pay ${amount}</button>
        </form>
      </section>
      ${testCardList(path)}`
    const body = html`<section>
        <h1>Invoice ${invoice.number}</h1>
        <p><span class="tag">${describeStatus(invoice)}</span></p>
        <p class="soft">
          ${invoice.customer_name ?? invoice.customer_email}<br />
          ${formatDate(invoice.period_start)} to
          ${formatDate(invoice.period_end)}${
            invoice.due_date !== null && html`<br />Due on ${formatDate(invoice.due_date)}`
          }
        </p>
        ${lineTable(invoice)}
        <p class="after"><a href="${path}/pdf">Download PDF</a></p>
      </section>
      ${invoice.status === 'open' && payment}`
    const isInvalid = refusal !== null || Object.keys(problems).length > 0
    return show(context, reply, `Invoice ${invoice.number}`, body, isInvalid ? 422 : 200)
  }
}

function lineTable({ lines, currency, amount_due: amountDue }: Invoice): Html {
  return html`<table>
    <thead>
      <tr>
        <th scope="col">Description</th>
        <th scope="col" class="number">Quantity</th>
        <th scope="col" class="number">Unit price</th>
        <th scope="col" class="number">Amount</th>
      </tr>
    </thead>
    <tbody>
      ${lines.data.map(
        (line) =>
          html`<tr>
            <td>${line.description}</td>
            <td class="number">${formatQuantity(line)}</td>
            <td class="number">${formatUnitPrice(line)}</td>
            <td class="number">${formatAmount(line.amount, currency)}</td>
          </tr>`,
      )}
    </tbody>
    <tfoot>
      <tr>
        <td colspan="3">Total</td>
        <td class="number">${formatAmount(amountDue, currency)}</td>
      </tr>
    </tfoot>
  </table>`
}

type PayResult =
  | { outcome: 'paid' }
  | { outcome: 'asks'; cardId: string }
  | { outcome: 'refused'; message: string }

/** Pays an open invoice with the entered card, or with the card that the form names. */
async function pay(
  change: Change,
  invoiceId: string,
  entered: EnteredCard | null,
  form: Record<string, string>,
): Promise<PayResult> {
  const invoice = await getObject(change.db, 'invoice', invoiceId)
  if (invoice.status !== 'open') return { outcome: 'paid' }
  const card =
    entered === null
      ? await findPayable(change, invoice, form.card ?? '')
      : await createEnteredCard(change, entered, invoiceId)
  if (card === null) return { outcome: 'refused', message: 'This card was removed. Choose another card.' }
  const { charge } = testCardOf(card)
  const asks = charge === 'asks' || (charge === 'needs_setup' && card.customer === null)
  if (asks && form.answer === undefined) return { outcome: 'asks', cardId: card.id }
  if (form.answer === 'no') {
    return { outcome: 'refused', message: 'Your bank did not approve the payment. You were not charged.' }
  }
  const refusal = await chargeInvoice(change, invoice, card, form.answer === 'yes')
  return refusal === null ? { outcome: 'paid' } : { outcome: 'refused', message: refusal.message }
}

/** A card of the invoice's customer, or one that was entered on this invoice's page. */
async function findPayable({ db }: Change, invoice: Invoice, id: string): Promise<PaymentMethod | null> {
  const card = await findObject(db, 'payment_method', id)
  if (card === null) return null
  return card.customer === invoice.customer || wasEnteredOn(card, invoice.id) ? card : null
}
