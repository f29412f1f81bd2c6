import { Stripe } from 'stripe'
import { describe, expect, test } from 'vitest'
import { createStripeProcessor } from '../../src/adapters/payment-processor/stripe/processor.ts'
import { readProxy } from '../../src/config/proxy.ts'
import type { MeteredPrice } from '../../src/ports/payment-processor.ts'

const secretKey = process.env.STRIPE_TEST_SECRET_KEY ?? ''

/**
 * Runs against Stripe in test mode: `STRIPE_TEST_SECRET_KEY=sk_test_… npx vitest run --project system
 * stripe-live`.
 */
describe.skipIf(!secretKey.startsWith('sk_test_'))('with real test keys', () => {
  const run = `live${Date.now().toString(36)}`
  const stripe = new Stripe(secretKey === '' ? 'sk_test_none' : secretKey)
  const payments = createStripeProcessor({
    name: 'stripe',
    secretKey: secretKey === '' ? 'sk_test_none' : secretKey,
    publishableKey: 'pk_test_unused',
    webhookSecret: 'whsec_unused',
    installation: run,
    transport: readProxy({}),
  })
  const prices: MeteredPrice[] = [
    {
      key: 'berth_live_test.seconds',
      displayName: 'Berth test, seconds',
      unitAmountDecimal: '0.00001',
      currency: 'usd',
    },
  ]
  const [{ key: priceKey }] = prices as [MeteredPrice]
  let organizationId = 0

  async function createCustomerWithCard(token: string) {
    organizationId += 1
    const email = `${run}-${organizationId}@example.com`
    const customerId = await payments.createCustomer({ organizationId, email, name: 'Berth test' })
    const { id: cardId } = await stripe.paymentMethods.attach(token, { customer: customerId })
    return { customerId, cardId }
  }

  test('prices can be published twice', async () => {
    await payments.publishPrices(prices)
    const before = await stripe.prices.list({ lookup_keys: [priceKey] })
    await payments.publishPrices(prices)
    expect((await stripe.prices.list({ lookup_keys: [priceKey] })).data).toEqual(before.data)
  })

  test('customers and cards: creating is idempotent, a card can be the default and be removed', async () => {
    const { customerId, cardId } = await createCustomerWithCard('pm_card_visa')
    const again = await payments.createCustomer({ organizationId, email: 'other@example.com', name: 'Other' })
    expect(again).toBe(customerId)
    await payments.setDefaultCard(customerId, null, cardId)
    expect(await payments.listCards(customerId)).toMatchObject([
      { id: cardId, last4: '4242', isDefault: true },
    ])
    expect(await payments.findCard(customerId, 'pm_unknown')).toBeNull()
    await payments.detachCard(cardId)
    await payments.detachCard(cardId)
    expect(await payments.listCards(customerId)).toEqual([])
  })

  test('a setup session', async () => {
    const { customerId } = await createCustomerWithCard('pm_card_visa')
    const session = await payments.createSetupSession({
      customerId,
      organizationId,
      currency: 'usd',
      purpose: 'payment_method_setup',
      returnUrl: 'http://localhost:8080/billing?session={CHECKOUT_SESSION_ID}',
    })
    expect(session).toMatchObject({ mode: 'setup', status: 'open', paymentStatus: 'no_payment_required' })
    expect(session.clientSecret).toContain('_secret_')
  })

  test(
    'a subscription: one per idempotency key, with a collection method and usage',
    { timeout: 120_000 },
    async () => {
      const { customerId, cardId } = await createCustomerWithCard('pm_card_visa')
      const startedAt = new Date()
      const subscribe = () =>
        payments.createSubscription({
          customerId,
          organizationId,
          cardId,
          anchor: startedAt,
          idempotencyKey: `key-${organizationId}`,
        })
      const [first, second] = await Promise.all([subscribe(), subscribe()])
      if (first.outcome !== 'created') throw new Error(JSON.stringify(first))
      expect(second).toEqual(first)
      expect(await payments.findSubscription(customerId)).toMatchObject({
        id: first.subscription.id,
        status: 'active',
      })
      await payments.setCollectionMethod(first.subscription.id, 'send_invoice', null)
      const back = await payments.setCollectionMethod(first.subscription.id, 'charge_automatically', cardId)
      expect(back).toMatchObject({ collectionMethod: 'charge_automatically', defaultPaymentMethodId: cardId })
      const hour = new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000)
      const usage = { priceKey, customerId, identifier: `${run}:usage`, at: new Date(), quantity: 42 }
      await payments.sendUsage(usage)
      await payments.sendUsage(usage)
      const end = new Date(hour.getTime() + 3_600_000)
      // Stripe aggregates meter events asynchronously.
      await expect
        .poll(() => payments.countUsage(priceKey, customerId, hour, end), { timeout: 90_000, interval: 2000 })
        .toBe(42)
      expect(await payments.listInvoices(customerId)).toHaveLength(1)
      await stripe.subscriptions.cancel(first.subscription.id)
    },
  )

  test('a declined card can’t be saved', async () => {
    await expect(createCustomerWithCard('pm_card_chargeDeclined')).rejects.toBeInstanceOf(
      Stripe.errors.StripeCardError,
    )
  })

  test('lists events since a time', async () => {
    const since = new Date(Date.now() - 60_000)
    const { customerId } = await createCustomerWithCard('pm_card_visa')
    await expect
      .poll(
        async () => (await Array.fromAsync(payments.listEvents(since))).map((event) => event.customerId),
        {
          timeout: 30_000,
          interval: 2000,
        },
      )
      .toContain(customerId)
  })
})
