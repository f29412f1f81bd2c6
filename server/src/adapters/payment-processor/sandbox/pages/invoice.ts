import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Stripe } from 'stripe'
import { formatAmount } from '../../decimal.ts'
import { payInvoice } from '../pay-invoice.ts'
import { createMethod } from '../payment-methods.ts'
import { findObject, getObject, listObjects } from '../store.ts'
import type { Step } from '../store.ts'
import { testCardOf } from '../test-cards.ts'
import { cardInputs, isEnteredCard, parseCard, prefill, readCardFields, testCardList } from './card-form.ts'
import type { CardFields, CardProblems, EnteredCard } from './card-form.ts'
import { consentPage } from './checkout.ts'
import { PageError, findBySecret, formOf, pathOf, show } from './context.ts'
import type { PageContext } from './context.ts'
import { html } from './html.ts'
import { renderInvoicePdf } from './invoice-pdf.ts'
import { describeCard, describeStatus, formatDate, formatUnit, usedLines } from './words.ts'

/** An invoice as its customer sees it, with what is needed to pay it. */
export function invoicePages(app: FastifyInstance, context: PageContext): void {
  const { engine } = context

  async function findInvoice(request: FastifyRequest): Promise<Stripe.Invoice> {
    const invoice = await findBySecret(context, 'invoice', request)
    if (invoice.status !== 'draft') return invoice
    throw new PageError(404, 'There is nothing here', 'This invoice is not ready yet.')
  }

  app.get('/invoices/:secret', { schema: { hide: true } }, async (request, reply) => {
    const { card } = request.query as { card?: string }
    return showInvoice(request, reply, await findInvoice(request), prefill(card, engine.clock()), {}, null)
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
    const entered = form.card === undefined ? parseCard(fields, engine.clock()) : null
    if (entered !== null && !isEnteredCard(entered)) {
      return showInvoice(request, reply, invoice, fields, entered, null)
    }
    const result = await engine.run((step) => pay(step, invoice, entered, form))
    if (result.asks !== null) {
      const purpose = `pay ${formatAmount(invoice.amount_remaining, invoice.currency)}`
      return show(
        context,
        reply,
        'Your bank asks',
        consentPage(pathOf(request), purpose, { card: result.asks }),
      )
    }
    if (result.message === null) return reply.redirect(page, 303)
    return showInvoice(request, reply, result.invoice, prefill(undefined, engine.clock()), {}, result.message)
  })

  async function showInvoice(
    request: FastifyRequest,
    reply: FastifyReply,
    invoice: Stripe.Invoice,
    fields: CardFields,
    problems: CardProblems,
    refusal: string | null,
  ): Promise<FastifyReply> {
    const address = pathOf(request).replace(/\/pay$/, '')
    const cards = await listObjects(engine.db, 'payment_method', { customer: invoice.customer as string })
    const amount = formatAmount(invoice.amount_remaining, invoice.currency)
    const payment = html`<section aria-labelledby="pay">
        <h2 id="pay">Pay ${amount}</h2>
        ${refusal !== null && html`<p class="alert" role="alert">${refusal}</p>`}
        ${
          cards.length > 0 &&
          html`<form method="post" action="${address}/pay">
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
        <form method="post" action="${address}/pay" novalidate>
          ${cardInputs(fields, problems)}<button class="wide">Pay ${amount}</button>
        </form>
      </section>
      ${testCardList(address)}`
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
        <table>
          <thead>
            <tr>
              <th scope="col">What</th>
              <th scope="col" class="number">Price for one</th>
              <th scope="col" class="number">Amount</th>
            </tr>
          </thead>
          <tbody>
            ${usedLines(invoice).map(
              (line) =>
                html`<tr>
                  <td>${line.description}</td>
                  <td class="number">${formatUnit(line)}</td>
                  <td class="number">${formatAmount(line.amount, line.currency)}</td>
                </tr>`,
            )}
          </tbody>
          <tfoot>
            <tr>
              <td colspan="2">Total</td>
              <td class="number">${formatAmount(invoice.total, invoice.currency)}</td>
            </tr>
          </tfoot>
        </table>
        <p class="after"><a href="${address}/pdf">Download the invoice as PDF</a></p>
      </section>
      ${invoice.status === 'open' && payment}`
    const isWrong = refusal !== null || Object.keys(problems).length > 0
    return show(context, reply, `Invoice ${invoice.number}`, body, isWrong ? 422 : 200)
  }
}

interface PayResult {
  invoice: Stripe.Invoice
  /** What went wrong, for the person */
  message: string | null
  /** The card whose bank asks first */
  asks: string | null
}

async function pay(
  step: Step,
  seen: Stripe.Invoice,
  entered: EnteredCard | null,
  form: Record<string, string>,
): Promise<PayResult> {
  const invoice = await getObject(step.db, 'invoice', seen.id)
  if (invoice.status !== 'open') return { invoice, message: null, asks: null }
  const method =
    entered === null
      ? await findPayable(step, invoice, form.card ?? '')
      : await createMethod(step, entered.card, { ...entered, metadata: { invoice: invoice.id } })
  if (method === null) return { invoice, message: 'This card is not there any more.', asks: null }
  const { charge } = testCardOf(method)
  const asks = charge === 'asks' || (charge === 'needs_setup' && method.customer === null)
  if (asks && form.answer === undefined) return { invoice, message: null, asks: method.id }
  if (form.answer === 'no') {
    return { invoice, message: 'Your bank could not confirm that it is you. Nothing was paid.', asks: null }
  }
  const result = await payInvoice(step, invoice, method, form.answer === 'yes')
  return { invoice: result.invoice, message: result.refusal?.message ?? null, asks: null }
}

/** A card of the invoice's customer, or one that was entered on this invoice's page. */
async function findPayable(
  step: Step,
  invoice: Stripe.Invoice,
  id: string,
): Promise<Stripe.PaymentMethod | null> {
  const method = await findObject(step.db, 'payment_method', id)
  if (method === null) return null
  const isOwn = method.customer === invoice.customer
  const wasEnteredHere = method.customer === null && method.metadata?.invoice === invoice.id
  return isOwn || wasEnteredHere ? method : null
}
