import type { FastifyInstance } from 'fastify'
import { formatAmount } from '../amounts.ts'
import type { Invoice, PaymentMethod } from '../object-types.ts'
import { getObject, listObjects } from '../objects.ts'
import { portalSeconds } from '../sessions.ts'
import { PageError, findBySecret, show } from './context.ts'
import type { PageContext } from './context.ts'
import { html } from './html.ts'
import { describeCard, describeStatus, formatDate } from './words.ts'

/** The customer portal: the saved cards and the invoices. */
export function portalPages(app: FastifyInstance, context: PageContext): void {
  const { store, links } = context
  app.get('/portal/:secret', { schema: { hide: true } }, async (request, reply) => {
    const session = await findBySecret(context, 'billing_portal.session', request)
    if ((session.created + portalSeconds) * 1000 <= store.clock().getTime()) {
      throw new PageError(410, 'This page has expired', 'Go back to billing and open the portal again.')
    }
    const filter = { customer: session.customer }
    const customer = await getObject(store.db, 'customer', session.customer)
    const cards = await listObjects(store.db, 'payment_method', filter)
    const invoices = await listObjects(store.db, 'invoice', filter)
    const body = html`<h1>${customer.name ?? customer.email ?? 'Billing'}</h1>
      <section aria-labelledby="cards">
        <h2 id="cards">Cards</h2>
        ${cards.length === 0 && html`<p class="soft">No saved cards</p>`}
        ${cardList(cards, customer.invoice_settings.default_payment_method)}
        <p class="after soft">Cards are added and removed on the billing page of Berth.</p>
      </section>
      <section aria-labelledby="invoices">
        <h2 id="invoices">Invoices</h2>
        ${invoiceTable(invoices, (id) => links.invoice(id))}
      </section>
      <p><a href="${session.return_url}">Back to Berth</a></p>`
    return show(context, reply, 'Billing', body)
  })
}

function cardList(cards: readonly PaymentMethod[], defaultId: string | null) {
  return html`<ul class="plain">
    ${cards.map(
      (card) =>
        html`<li>
          <span
            >${describeCard(card)} ${card.id === defaultId && html`<span class="tag">Default</span>`}</span
          >
        </li>`,
    )}
  </ul>`
}

function invoiceTable(invoices: readonly Invoice[], linkTo: (id: string) => string) {
  const finalized = invoices.filter(({ status }) => status !== 'draft')
  if (finalized.length === 0) return html`<p class="soft">No invoices yet</p>`
  return html`<table>
    <thead>
      <tr>
        <th scope="col">Invoice</th>
        <th scope="col">Date</th>
        <th scope="col">Status</th>
        <th scope="col" class="number">Amount</th>
      </tr>
    </thead>
    <tbody>
      ${finalized.map(
        (invoice) =>
          html`<tr>
            <td><a href="${linkTo(invoice.id)}">${invoice.number}</a></td>
            <td>${formatDate(invoice.created)}</td>
            <td>${describeStatus(invoice)}</td>
            <td class="number">${formatAmount(invoice.amount_due, invoice.currency)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`
}
