import { expect } from 'vitest'
import type { PaymentProcessor } from '../../src/ports/payment-processor.ts'
import { prices, returnUrl } from './stripe-support.ts'
import type { TestProcessor } from './stripe-support.ts'

/** Calls every method of the port with every combination of options. */
export async function callEverything(world: TestProcessor, payments: PaymentProcessor): Promise<void> {
  await payments.publishPrices(prices)
  const organizationId = 1
  const customerId = await payments.createCustomer({ organizationId, email: 'a@example.com', name: 'Acme' })
  expect(await payments.hasCustomer(customerId)).toBe(true)
  const session = await payments.createSetupSession({
    customerId,
    organizationId,
    currency: 'usd',
    purpose: 'postpaid_activation',
    returnUrl,
  })
  const { id: cardId } = await world.stripe.paymentMethods.attach('pm_card_visa', { customer: customerId })
  const other = await world.stripe.paymentMethods.attach('pm_card_mastercard', { customer: customerId })
  await payments.setDefaultCard(customerId, null, cardId)
  await payments.listCards(customerId)
  await payments.findCard(customerId, cardId)
  const result = await payments.createSubscription({
    customerId,
    organizationId,
    cardId,
    anchor: world.now(),
    idempotencyKey: 'key',
  })
  if (result.outcome !== 'created') throw new Error('the card was refused')
  const { id } = result.subscription
  await payments.findSubscription(customerId)
  expect(await payments.findSubscription('cus_unknown')).toBeNull()
  await payments.listPublishedKeys()
  await payments.claimSubscription(id)
  await payments.setCollectionMethod(id, 'send_invoice', null)
  await payments.setCollectionMethod(id, 'charge_automatically', cardId)
  await payments.setDefaultCard(customerId, id, cardId)
  await payments.detachCard(other.id)
  await payments.detachCard(other.id)
  await payments.findSetupResult(session.id)
  await payments.createPortalSession(customerId, 'http://localhost:8080/billing')
  await payments.listInvoices(customerId)
  const [{ key: priceKey }] = prices as [(typeof prices)[0]]
  const at = new Date('2026-11-10T08:00:00Z')
  await payments.sendUsage({ priceKey, customerId, identifier: 'org:meter:hour', at, quantity: 3600 })
  await payments.countUsage(priceKey, customerId, at, new Date('2026-11-10T09:00:00Z'))
  world.advance(60_000)
  await payments.cancelSubscription(id)
  await payments.cancelSubscription(id)
  const [invoice] = await Array.fromAsync(payments.listUsageInvoices(at))
  expect(invoice).toMatchObject({ customerId, created: world.now() })
  expect(await payments.findInvoicedUsage(invoice!.id)).toMatchObject({ customerId, isFinal: false })
  expect(await payments.findInvoicedUsage('in_unknown')).toBeNull()
  await Array.fromAsync(payments.listEvents(new Date(world.now().getTime() - 86_400_000)))
  await payments.publishPrices(prices.map((price) => ({ ...price, unitAmountDecimal: '0.25' })))
}
