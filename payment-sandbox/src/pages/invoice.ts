import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { formatAmount } from '../amounts.ts'
import { chargeInvoice } from '../collection.ts'
import type { Invoice, PaymentMethod } from '../object-types.ts'
import { getObject, listObjects } from '../objects.ts'
import type { Change } from '../store.ts'
import { testCardOf } from '../test-cards.ts'
import { cardInputs, testCardList } from './card-form.ts'
import { findSubmittedCard, firstState, isInvalid, submitCard } from './card-flow.ts'
import type { CardFormState, CardResult, SubmittedCard } from './card-flow.ts'
import { findBySecret, notFound, pathOf, show } from './context.ts'
import type { PageContext } from './context.ts'
import { html } from './html.ts'
import type { Html } from './html.ts'
import { describeCard, describeStatus, formatDate, formatQuantity, formatUnitPrice } from './words.ts'

/** The page of an invoice with its payment form. */
export function invoicePages(app: FastifyInstance, context: PageContext): void {
  async function findInvoice(request: FastifyRequest): Promise<Invoice> {
    const invoice = await findBySecret(context, 'invoice', request)
    if (invoice.status === 'draft') throw notFound()
    return invoice
  }

  app.get('/invoices/:secret', { schema: { hide: true } }, async (request, reply) => {
    return showInvoice(context, request, reply, await findInvoice(request), firstState(context, request))
  })

  app.post('/invoices/:secret/pay', { schema: { hide: true } }, async (request, reply) => {
    const invoice = await findInvoice(request)
    const page = pathOf(request).replace(/\/pay$/, '')
    if (invoice.status !== 'open') return reply.redirect(page, 303)
    return submitCard(context, request, reply, {
      purpose: `pay ${formatAmount(invoice.amount_due, invoice.currency)}`,
      use: (change, submitted) => pay(change, invoice.id, submitted),
      showForm: (state) => showInvoice(context, request, reply, invoice, state),
      done: () => reply.redirect(page, 303),
    })
  })
}

async function showInvoice(
  context: PageContext,
  request: FastifyRequest,
  reply: FastifyReply,
  invoice: Invoice,
  state: CardFormState,
): Promise<FastifyReply> {
  const path = pathOf(request).replace(/\/pay$/, '')
  const cards = await listObjects(context.store.db, 'payment_method', { customer: invoice.customer })
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
    </section>
    ${invoice.status === 'open' && paymentForms(invoice, cards, path, state)}`
  return show(context, reply, `Invoice ${invoice.number}`, body, isInvalid(state) ? 422 : 200)
}

function paymentForms(
  invoice: Invoice,
  cards: readonly PaymentMethod[],
  path: string,
  { fields, problems, refusal }: CardFormState,
): Html {
  const amount = formatAmount(invoice.amount_due, invoice.currency)
  return html`<section aria-labelledby="pay">
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

/** Pays an open invoice with a new card, or with one that is saved for its customer. */
async function pay(change: Change, invoiceId: string, submitted: SubmittedCard): Promise<CardResult> {
  const invoice = await getObject(change.db, 'invoice', invoiceId)
  if (invoice.status !== 'open') return { outcome: 'done' }
  const card = await findSubmittedCard(change, submitted, invoiceId, invoice.customer)
  if (card === null) return { outcome: 'refused', message: 'This card was removed. Choose another card.' }
  const { charge } = testCardOf(card)
  const asks = charge === 'asks' || (charge === 'needs_setup' && card.customer === null)
  if (asks && submitted.answer === undefined) return { outcome: 'asks', cardId: card.id }
  if (submitted.answer === 'no') {
    return { outcome: 'refused', message: 'Your bank did not approve the payment. You were not charged.' }
  }
  const refusal = await chargeInvoice(change, invoice, card, submitted.answer === 'yes')
  return refusal === null ? { outcome: 'done' } : { outcome: 'refused', message: refusal.message }
}
