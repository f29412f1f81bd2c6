import type { FastifyInstance, FastifyRequest } from 'fastify'
import { formatAmount } from '../amounts.ts'
import { detachCard, requireCardOf } from '../cards.ts'
import { updateCustomer } from '../customers.ts'
import type { Invoice, PaymentMethod, PortalSession, Subscription } from '../object-types.ts'
import { getObject, listObjects } from '../objects.ts'
import { createCheckoutSession, portalSeconds } from '../sessions.ts'
import type { Change } from '../store.ts'
import { updateSubscription } from '../subscriptions.ts'
import { PageError, findBySecret, pathOf, show } from './context.ts'
import type { PageContext } from './context.ts'
import { html } from './html.ts'
import { describeCard, describeStatus, formatDate } from './words.ts'

/** The customer portal: the saved cards and the invoices. */
export function portalPages(app: FastifyInstance, context: PageContext): void {
  const { store, links } = context

  async function findSession(request: FastifyRequest): Promise<PortalSession> {
    const session = await findBySecret(context, 'billing_portal.session', request)
    if ((session.created + portalSeconds) * 1000 <= store.clock().getTime()) {
      throw new PageError(410, 'This page has expired', 'Go back to billing and open the portal again.')
    }
    return session
  }

  app.get('/portal/:secret', { schema: { hide: true } }, async (request, reply) => {
    const session = await findSession(request)
    const filter = { customer: session.customer }
    const customer = await getObject(store.db, 'customer', session.customer)
    const cards = await listObjects(store.db, 'payment_method', filter)
    const invoices = await listObjects(store.db, 'invoice', filter)
    const path = pathOf(request)
    const body = html`<h1>${customer.name ?? customer.email ?? 'Billing'}</h1>
      <section aria-labelledby="cards">
        <h2 id="cards">Cards</h2>
        ${cards.length === 0 && html`<p class="soft">No saved cards</p>`}
        ${cardList(cards, path, customer.invoice_settings.default_payment_method)}
        <form class="after" method="post" action="${path}/add-card"><button>Add a card</button></form>
      </section>
      <section aria-labelledby="invoices">
        <h2 id="invoices">Invoices</h2>
        ${invoiceTable(invoices, (id) => links.invoice(id))}
      </section>
      <p><a href="${session.return_url}">Back to Berth</a></p>`
    return show(context, reply, 'Billing', body)
  })

  app.post('/portal/:secret/add-card', { schema: { hide: true } }, async (request, reply) => {
    const portal = await findSession(request)
    const { id } = await store.change((change) =>
      createCheckoutSession(change, { customer: portal.customer, return_url: links.portal(portal.id) }),
    )
    return reply.redirect(links.checkout(id), 303)
  })

  for (const [name, act] of [
    ['default', makeDefault],
    ['remove', removeCard],
  ] as const) {
    app.post(`/portal/:secret/cards/:card/${name}`, { schema: { hide: true } }, async (request, reply) => {
      const session = await findSession(request)
      const { card } = request.params as { card: string }
      await store.change(async (change) => {
        const owned = await requireCardOf(change.db, session.customer, card, 'card').catch(() => null)
        // A second click finds the card already removed.
        if (owned !== null) await act(change, session.customer, card)
      })
      return reply.redirect(pathOf(request).replace(/\/cards\/.*$/, ''), 303)
    })
  }
}

function cardList(cards: readonly PaymentMethod[], path: string, defaultId: string | null) {
  const isDefault = ({ id }: PaymentMethod) => id === defaultId
  return html`<ul class="plain">
    ${cards.map(
      (card) =>
        html`<li>
          <span>${describeCard(card)} ${isDefault(card) && html`<span class="tag">Default</span>`}</span>
          <span class="actions">
            ${!isDefault(card) && cardAction(`${path}/cards/${card.id}/default`, 'Make default', card)}
            ${cardAction(`${path}/cards/${card.id}/remove`, 'Remove', card)}</span
          >
        </li>`,
    )}
  </ul>`
}

function cardAction(path: string, label: string, card: PaymentMethod) {
  return html`<form method="post" action="${path}">
    <button class="quiet" aria-label="${label}: ${describeCard(card)}">${label}</button>
  </form>`
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

async function makeDefault(change: Change, customerId: string, cardId: string): Promise<void> {
  await updateCustomer(change, customerId, { invoice_settings: { default_payment_method: cardId } })
  for (const { id } of await listLive(change, customerId)) {
    await updateSubscription(change, id, { default_payment_method: cardId })
  }
}

async function removeCard(change: Change, customerId: string, cardId: string): Promise<void> {
  const customer = await getObject(change.db, 'customer', customerId)
  const isCharged = (await listLive(change, customerId)).some(
    ({ collection_method: method, default_payment_method: own }) =>
      method === 'charge_automatically' &&
      (own ?? customer.invoice_settings.default_payment_method) === cardId,
  )
  if (isCharged) {
    throw new PageError(
      409,
      'This card is in use',
      'Your subscription is charged to this card. Make another card the default, then remove this one.',
    )
  }
  await detachCard(change, cardId)
}

function listLive({ db }: Change, customerId: string): Promise<Subscription[]> {
  return listObjects(db, 'subscription', { customer: customerId, contains: { ended_at: null } })
}
