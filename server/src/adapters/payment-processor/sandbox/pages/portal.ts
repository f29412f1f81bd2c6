import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Stripe } from 'stripe'
import { formatAmount } from '../../decimal.ts'
import { updateCustomer } from '../customers.ts'
import { detachMethod, requireOwnMethod } from '../payment-methods.ts'
import { portalSeconds } from '../portal.ts'
import { createSetupSession } from '../setup.ts'
import { getObject, listObjects } from '../store.ts'
import type { Step } from '../store.ts'
import { updateSubscription } from '../subscriptions.ts'
import { PageError, findBySecret, pathOf, show } from './context.ts'
import type { PageContext } from './context.ts'
import { html } from './html.ts'
import { describeCard, describeStatus, formatDate } from './words.ts'

/** Where a customer sees the saved cards and the invoices. */
export function portalPages(app: FastifyInstance, context: PageContext): void {
  const { engine, addresses } = context

  async function findSession(request: FastifyRequest): Promise<Stripe.BillingPortal.Session> {
    const session = await findBySecret(context, 'billing_portal.session', request)
    if ((session.created + portalSeconds) * 1000 <= engine.clock().getTime()) {
      throw new PageError(410, 'This page has expired', 'Go back to billing and open the portal again.')
    }
    return session
  }

  app.get('/portal/:secret', { schema: { hide: true } }, async (request, reply) => {
    const session = await findSession(request)
    const filter = { customer: session.customer }
    const customer = await getObject(engine.db, 'customer', session.customer)
    const cards = await listObjects(engine.db, 'payment_method', filter)
    const invoices = await listObjects(engine.db, 'invoice', filter)
    const isDefault = (card: Stripe.PaymentMethod) =>
      customer.invoice_settings.default_payment_method === card.id
    const address = pathOf(request)
    const body = html`<h1>${customer.name ?? customer.email ?? 'Billing'}</h1>
      <section aria-labelledby="cards">
        <h2 id="cards">Cards</h2>
        ${cards.length === 0 && html`<p class="soft">No card is saved.</p>`}
        <ul class="plain">
          ${cards.map(
            (card) =>
              html`<li>
                <span
                  >${describeCard(card)} ${isDefault(card) && html`<span class="tag">Default</span>`}</span
                >
                <span class="actions">
                  ${!isDefault(card) && cardAction(`${address}/cards/${card.id}/default`, 'Make default', card)}
                  ${cardAction(`${address}/cards/${card.id}/remove`, 'Remove', card)}</span
                >
              </li>`,
          )}
        </ul>
        <form class="after" method="post" action="${address}/add-card"><button>Add a card</button></form>
      </section>
      <section aria-labelledby="invoices">
        <h2 id="invoices">Invoices</h2>
        ${invoiceTable(invoices, (id) => addresses.invoice(id))}
      </section>
      ${session.return_url !== null && html`<p><a href="${session.return_url}">Back to Berth</a></p>`}`
    return show(context, reply, 'Billing', body)
  })

  app.post('/portal/:secret/add-card', { schema: { hide: true } }, async (request, reply) => {
    const portal = await findSession(request)
    const customer = await getObject(engine.db, 'customer', portal.customer)
    const session = await engine.run((step) =>
      createSetupSession(step, {
        customer: customer.id,
        currency: customer.currency ?? 'usd',
        returnUrl: addresses.portal(portal.id),
      }),
    )
    return reply.redirect(addresses.checkout(session.id), 303)
  })

  for (const [name, act] of [
    ['default', makeDefault],
    ['remove', removeCard],
  ] as const) {
    app.post(`/portal/:secret/cards/:card/${name}`, { schema: { hide: true } }, async (request, reply) => {
      const session = await findSession(request)
      const { card } = request.params as { card: string }
      await engine.run(async (step) => {
        const method = await requireOwnMethod(step.db, session.customer, card, 'card').catch(() => null)
        // Gone already, by a second click perhaps.
        if (method !== null) await act(step, session.customer, card)
      })
      return reply.redirect(pathOf(request).replace(/\/cards\/.*$/, ''), 303)
    })
  }
}

function cardAction(address: string, label: string, card: Stripe.PaymentMethod) {
  return html`<form method="post" action="${address}">
    <button class="quiet" aria-label="${label}: ${describeCard(card)}">${label}</button>
  </form>`
}

function invoiceTable(invoices: readonly Stripe.Invoice[], addressOf: (id: string) => string) {
  const finalized = invoices.filter(({ status }) => status !== 'draft')
  if (finalized.length === 0) return html`<p class="soft">There are no invoices yet.</p>`
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
            <td><a href="${addressOf(invoice.id)}">${invoice.number}</a></td>
            <td>${formatDate(invoice.created)}</td>
            <td>${describeStatus(invoice)}</td>
            <td class="number">${formatAmount(invoice.total, invoice.currency)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`
}

async function makeDefault(step: Step, customerId: string, cardId: string): Promise<void> {
  await updateCustomer(step, customerId, { invoice_settings: { default_payment_method: cardId } })
  for (const { id } of await listLive(step, customerId)) {
    await updateSubscription(step, id, { default_payment_method: cardId })
  }
}

async function removeCard(step: Step, customerId: string, cardId: string): Promise<void> {
  const customer = await getObject(step.db, 'customer', customerId)
  const isCharged = (await listLive(step, customerId)).some(
    ({ collection_method: method, default_payment_method: own }) =>
      method === 'charge_automatically' &&
      (own ?? customer.invoice_settings.default_payment_method) === cardId,
  )
  if (isCharged) {
    throw new PageError(
      409,
      'This card is in use',
      'Your subscription is charged to it. Make another card the default first.',
    )
  }
  await detachMethod(step, cardId)
}

async function listLive(step: Step, customerId: string): Promise<Stripe.Subscription[]> {
  const subscriptions = await listObjects(step.db, 'subscription', { customer: customerId })
  return subscriptions.filter(({ ended_at: ended }) => ended === null)
}
