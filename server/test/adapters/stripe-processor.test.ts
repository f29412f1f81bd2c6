import { Stripe } from 'stripe'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Subscription } from '../../../payment-sandbox/src/object-types.ts'
import { listObjects } from '../../../payment-sandbox/src/objects.ts'
import { connect, prices, returnUrl, startTestProcessor, subscribe } from './stripe-support.ts'
import type { TestProcessor } from './stripe-support.ts'

let world: TestProcessor
beforeAll(async () => {
  world = await startTestProcessor()
  await world.payments.publishPrices(prices)
})
afterAll(() => world.close())

let organizationId = 1000
beforeEach(() => {
  organizationId += 1
})

/** Compares keys; null sorts last. */
function byText(a: string | null, b: string | null): number {
  return (a ?? '~').localeCompare(b ?? '~')
}

function newCustomer(email = 'ada@example.com') {
  return world.payments.createCustomer({ organizationId, email, name: 'Analytical Engines' })
}

test('createCustomer: idempotent per organization, with any email', async () => {
  const ids = await Promise.all(
    Array.from({ length: 50 }, (_, index) => newCustomer(`person${index}@example.com`)),
  )
  expect(new Set(ids).size).toBe(1)
  const customers = await listObjects(world.db, 'customer', {
    contains: { metadata: { organization_id: String(organizationId) } },
  })
  expect(customers.map(({ id }) => id)).toEqual([ids[0]])
})

test('createSetupSession: an open session that expires after a day', async () => {
  const customerId = await newCustomer()
  const session = await world.payments.createSetupSession({
    customerId,
    organizationId,
    currency: 'usd',
    purpose: 'postpaid_activation',
    returnUrl,
  })
  expect(session).toEqual({
    id: expect.stringMatching(/^cs_test_/),
    clientSecret: expect.stringContaining('_secret_'),
    mode: 'setup',
    status: 'open',
    paymentStatus: 'no_payment_required',
    expiresAt: new Date(world.now().getTime() + 86_400_000),
  })
  const stored = await world.read('checkout.session', session.id)
  expect(stored.metadata).toEqual({
    installation: 'test',
    organization_id: String(organizationId),
    purpose: 'postpaid_activation',
  })
})

test('createSetupSession: throws for an unknown customer and an invalid URL', async () => {
  const setup = { organizationId, currency: 'usd', purpose: 'payment_method_setup' as const }
  await expect(
    world.payments.createSetupSession({ ...setup, customerId: 'cus_unknown', returnUrl }),
  ).rejects.toMatchObject({ code: 'resource_missing' })
  const customerId = await newCustomer()
  await expect(
    world.payments.createSetupSession({ ...setup, customerId, returnUrl: 'javascript:alert(1)' }),
  ).rejects.toMatchObject({ param: 'return_url' })
})

test('listCards, findCard, setDefaultCard, detachCard: the life cycle of two cards', async () => {
  const { customerId, cardId } = await world.createCustomerWithCard('pm_card_visa')
  const second = await world.stripe.paymentMethods.attach('pm_card_mastercard', { customer: customerId })
  expect(await world.payments.listCards(customerId)).toEqual([
    {
      id: second.id,
      brand: 'mastercard',
      last4: '4444',
      expMonth: 12,
      expYear: 2029,
      isDefault: false,
      allowRedisplay: 'unspecified',
    },
    expect.objectContaining({ id: cardId, brand: 'visa', last4: '4242', isDefault: true }),
  ])
  await world.payments.setDefaultCard(customerId, null, second.id)
  expect(await world.payments.findCard(customerId, second.id)).toMatchObject({ isDefault: true })
  expect(await world.payments.findCard(customerId, cardId)).toMatchObject({ isDefault: false })
  await world.payments.detachCard(second.id)
  expect(await world.payments.findCard(customerId, second.id)).toBeNull()
  // Repeating is safe, e.g. after a crash.
  await world.payments.detachCard(second.id)
  expect(await world.payments.listCards(customerId)).toEqual([
    expect.objectContaining({ id: cardId, isDefault: false }),
  ])
  // A detached card can't be attached again.
  await expect(
    world.stripe.paymentMethods.attach('pm_nothing', { customer: customerId }),
  ).rejects.toMatchObject({ code: 'resource_missing' })
})

test('findCard: null for another customer’s card and an unknown one', async () => {
  const { cardId } = await world.createCustomerWithCard('pm_card_visa')
  const customerId = await newCustomer()
  expect(await world.payments.findCard(customerId, cardId)).toBeNull()
  expect(await world.payments.findCard(customerId, 'pm_unknown')).toBeNull()
  await expect(world.payments.setDefaultCard(customerId, null, cardId)).rejects.toMatchObject({
    code: 'resource_missing',
  })
})

test('a declined card can’t be attached', async () => {
  const customer = await newCustomer()
  await expect(
    world.stripe.paymentMethods.attach('pm_card_chargeDeclined', { customer }),
  ).rejects.toBeInstanceOf(Stripe.errors.StripeCardError)
  expect(await world.payments.listCards(customer)).toEqual([])
})

test('createSubscription: all prices, a period from now to a whole hour after a month, charged to the card', async () => {
  const customer = await world.createCustomerWithCard('pm_card_visa')
  const subscription = await subscribe(world, customer)
  expect(subscription).toEqual({
    id: expect.stringMatching(/^sub_/),
    status: 'active',
    collectionMethod: 'charge_automatically',
    currentPeriodStart: new Date('2026-11-10T09:30:00Z'),
    currentPeriodEnd: new Date('2026-12-10T09:00:00Z'),
    defaultPaymentMethodId: customer.cardId,
    prices: expect.arrayContaining(prices.map(({ key }) => ({ key, since: world.now() }))),
  })
  expect(await world.payments.findSubscription(customer.customerId)).toEqual(subscription)
  const { items } = await world.read('subscription', subscription.id)
  expect(items.data.map(({ price }) => price.lookup_key).toSorted(byText)).toEqual(
    prices.map(({ key }) => key).toSorted(byText),
  )
})

test('createSubscription: 50 concurrent calls with one key create one subscription', async () => {
  const { customerId, cardId } = await world.createCustomerWithCard('pm_card_visa')
  const results = await Promise.all(
    Array.from({ length: 50 }, () => subscribe(world, { customerId, cardId }, `fifty-${customerId}`)),
  )
  expect(new Set(results.map(({ id }) => id)).size).toBe(1)
  const { data } = await world.stripe.subscriptions.list({ customer: customerId, status: 'all' })
  expect(data).toHaveLength(1)
})

test('createSubscription: throws when the key was used with other parameters', async () => {
  const first = await world.createCustomerWithCard('pm_card_visa')
  const other = await world.createCustomerWithCard('pm_card_visa')
  await subscribe(world, first, 'one-key')
  await expect(subscribe(world, other, 'one-key')).rejects.toBeInstanceOf(
    Stripe.errors.StripeIdempotencyError,
  )
  expect(await world.payments.findSubscription(other.customerId)).toBeNull()
})

test.each([
  ['pm_card_authenticationRequired', 'authentication_required'],
  ['pm_card_authenticationRequiredOnSetup', 'authentication_required'],
])('createSubscription: %s is refused without authentication, every time', async (token, code) => {
  const { customerId, cardId } = await world.createCustomerWithCard(token)
  for (let attempt = 0; attempt < 2; attempt++) {
    const result = await world.payments.createSubscription({
      customerId,
      organizationId,
      cardId,
      anchor: world.now(),
      idempotencyKey: `refused-${customerId}`,
    })
    expect(result).toEqual({
      outcome: 'card_refused',
      code,
      message: 'Your bank must approve each payment with this card.',
    })
  }
  expect(await world.payments.findSubscription(customerId)).toBeNull()
  expect(await world.payments.listInvoices(customerId)).toEqual([])
})

test('createSubscription: an expired card is refused', async () => {
  const { customerId, cardId } = await world.createCustomerWithCard('pm_card_visa')
  const before = world.now()
  world.setTime(new Date('2030-01-01T00:00:00Z'))
  const result = await world.payments.createSubscription({
    customerId,
    organizationId,
    cardId,
    anchor: world.now(),
    idempotencyKey: `late-${customerId}`,
  })
  world.setTime(before)
  expect(result).toMatchObject({ outcome: 'card_refused', code: 'expired_card' })
})

test('createSubscription: throws for another customer’s card', async () => {
  const { cardId } = await world.createCustomerWithCard('pm_card_visa')
  const { customerId } = await world.createCustomerWithCard('pm_card_visa')
  await expect(subscribe(world, { customerId, cardId })).rejects.toMatchObject({ code: 'resource_missing' })
})

test.each([
  [500, {}, 'failed'],
  [400, {}, 'failed'],
  [503, { 'idempotent-replayed': 'true' }, 'failed'],
  [503, {}, null],
  [409, {}, null],
] as const)('createSubscription: an answer %i %j: %s', async (status, headers, outcome) => {
  const body = JSON.stringify({ error: { type: 'api_error', message: 'Something is wrong on our side.' } })
  const failing = connect(world, {
    transport: async (url, init) => {
      const { pathname } = new URL(url instanceof Request ? url.url : url)
      return pathname === '/v1/subscriptions'
        ? new Response(body, { status, headers: { ...headers, 'stripe-should-retry': 'false' } })
        : world.sandbox.fetch(url, init)
    },
  })
  const { customerId, cardId } = await world.createCustomerWithCard('pm_card_visa')
  const result = failing.createSubscription({
    customerId,
    organizationId,
    cardId,
    anchor: world.now(),
    idempotencyKey: 'x',
  })
  if (outcome === null) await expect(result).rejects.toMatchObject({ statusCode: status })
  else expect(await result).toMatchObject({ outcome })
})

test('a subscription can’t have the same price twice', async () => {
  const customer = await world.createCustomerWithCard('pm_card_visa')
  const { id } = await subscribe(world, customer)
  const { items } = await world.read('subscription', id)
  await expect(
    world.stripe.subscriptions.update(id, { items: [{ price: items.data[0]?.price.id ?? '' }] }),
  ).rejects.toMatchObject({ param: 'items' })
})

test('findSubscription: null before the first one, the newest when all have ended', async () => {
  const customer = await world.createCustomerWithCard('pm_card_visa')
  expect(await world.payments.findSubscription(customer.customerId)).toBeNull()
  const first = await subscribe(world, customer, `a-${customer.customerId}`)
  await world.stripe.subscriptions.cancel(first.id)
  const second = await subscribe(world, customer, `b-${customer.customerId}`)
  expect(await world.payments.findSubscription(customer.customerId)).toMatchObject({ id: second.id })
  await world.stripe.subscriptions.cancel(second.id)
  expect(await world.payments.findSubscription(customer.customerId)).toMatchObject({
    id: second.id,
    status: 'canceled',
  })
})

test('setCollectionMethod: to send_invoice and back; setDefaultCard updates the subscription', async () => {
  const customer = await world.createCustomerWithCard('pm_card_visa')
  const { id } = await subscribe(world, customer)
  expect(await world.payments.setCollectionMethod(id, 'send_invoice', null)).toMatchObject({
    collectionMethod: 'send_invoice',
  })
  expect(await world.read('subscription', id)).toMatchObject({ days_until_due: 30 })
  const back = await world.payments.setCollectionMethod(id, 'charge_automatically', customer.cardId)
  expect(back).toMatchObject({
    collectionMethod: 'charge_automatically',
    defaultPaymentMethodId: customer.cardId,
  })
  const other = await world.stripe.paymentMethods.attach('pm_card_mastercard', {
    customer: customer.customerId,
  })
  await world.payments.setDefaultCard(customer.customerId, id, other.id)
  expect(await world.payments.findSubscription(customer.customerId)).toMatchObject({
    defaultPaymentMethodId: other.id,
  })
})

test('createPortalSession: a URL that can’t be guessed', async () => {
  const customerId = await newCustomer()
  const url = await world.payments.createPortalSession(customerId, 'http://localhost:8080/billing')
  expect(url).toMatch(/^http:\/\/localhost:8080\/sandbox\/billing\/portal\/bps_\w+_secret_[\w-]{43}$/)
})

test('sendUsage, countUsage: an identifier counts once; hours and customers are counted separately', async () => {
  const customerId = await newCustomer()
  const [{ key: priceKey }] = prices as [(typeof prices)[0]]
  const at = new Date('2026-11-10T08:15:00Z')
  const send = (identifier: string, quantity: number, when = at) =>
    world.payments.sendUsage({ priceKey, customerId, identifier, at: when, quantity })
  await Promise.all(Array.from({ length: 10 }, () => send(`${customerId}:1`, 3600)))
  await send(`${customerId}:2`, 1)
  await send(`${customerId}:3`, 5, new Date('2026-11-10T09:00:00Z'))
  const from = new Date('2026-11-10T08:00:00Z')
  const next = new Date('2026-11-10T09:00:00Z')
  expect(await world.payments.countUsage(priceKey, customerId, from, next)).toBe(3601)
  expect(await world.payments.countUsage(priceKey, customerId, from, new Date('2026-11-10T10:00:00Z'))).toBe(
    3606,
  )
  expect(await world.payments.countUsage(prices[1]!.key, customerId, from, next)).toBe(0)
  await expect(send(`${customerId}:4`, 1.5)).rejects.toThrow('whole units')
  await expect(send(`${customerId}:5`, 1, new Date('2026-01-01T00:00:00Z'))).rejects.toMatchObject({
    param: 'timestamp',
  })
})

test('publishPrices: repeating changes nothing; a new amount creates a price that live subscriptions move to', async () => {
  const customer = await world.createCustomerWithCard('pm_card_visa')
  const { id } = await subscribe(world, customer)
  const list = () => world.stripe.prices.list({ active: true, limit: 100 })
  const before = await list()
  await world.payments.publishPrices(prices)
  expect(await list()).toEqual(before)
  const changed = prices.map((price) => ({ ...price, unitAmountDecimal: '0.5' }))
  await world.payments.publishPrices(changed)
  const after = await list()
  expect(after.data.map(({ lookup_key: key }) => key).toSorted(byText)).toEqual(
    prices.map(({ key }) => key).toSorted(byText),
  )
  expect(after.data.map(({ unit_amount_decimal: amount }) => String(amount))).toEqual(['50', '50'])
  const { items } = await world.read('subscription', id)
  expect(items.data.map(({ price }) => price.id).toSorted(byText)).toEqual(
    after.data.map((price) => price.id).toSorted(byText),
  )
  // Back to the old amount, by two processes at once.
  await Promise.all([world.payments.publishPrices(prices), world.payments.publishPrices(prices)])
  expect(
    (await list()).data.map(({ unit_amount_decimal: amount }) => String(amount)).toSorted(byText),
  ).toEqual(['0.001', '0.123456789'])
  const moved = await world.read('subscription', id)
  expect(moved.items.data.map(({ price }) => price.lookup_key).toSorted(byText)).toEqual(
    prices.map(({ key }) => key).toSorted(byText),
  )
})

test('publishPrices: does not change subscriptions of another installation until they are claimed', async () => {
  const { id } = await subscribe(world, await world.createCustomerWithCard('pm_card_visa'))
  const another = connect(world, { installation: 'another' })
  const more = [...prices, { ...prices[0]!, key: 'gpu_instance_seconds.new' }]
  const count = async () => (await world.read('subscription', id)).items.data.length
  await another.publishPrices(more)
  expect(await count()).toBe(prices.length)
  await another.claimSubscription(id)
  await another.publishPrices(more)
  expect(await count()).toBe(more.length)
  await world.payments.publishPrices(prices)
})

test('publishPrices: throws for more than 20 prices and for an amount with too many decimals', async () => {
  const many = Array.from({ length: 21 }, (_, index) => ({ ...prices[0]!, key: `key-${index}` }))
  await expect(world.payments.publishPrices(many)).rejects.toThrow('20')
  const fine = [{ ...prices[0]!, unitAmountDecimal: '0.000000000000001' }]
  await expect(world.payments.publishPrices(fine)).rejects.toThrow('too many decimals')
})

describe('retired prices', () => {
  let own: TestProcessor
  beforeAll(async () => {
    own = await startTestProcessor()
  })
  afterAll(() => own.close())
  const make = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, index) => ({ ...prices[0]!, key: `key-${from + index}` }))
  const keysOf = ({ items }: Subscription) => items.data.map(({ price }) => price.lookup_key).toSorted(byText)
  const keys = (list: typeof prices) => list.map(({ key }) => key).toSorted(byText)

  test('a new subscription has none; a live one keeps those with usage and replaces others only when it is full', async () => {
    await own.payments.publishPrices(make(0, 15))
    const customer = await own.createCustomerWithCard('pm_card_visa')
    const { id } = await subscribe(own, customer)
    const used = { priceKey: 'key-3', customerId: customer.customerId, identifier: 'hour', quantity: 1 }
    await own.payments.sendUsage({ ...used, at: own.now() })
    await own.payments.publishPrices(make(10, 20))
    expect(await own.payments.listPublishedKeys()).toEqual(keys(make(10, 20)))
    expect(keysOf(await own.read('subscription', id))).toEqual(keys(make(0, 20)))
    await own.payments.publishPrices(make(15, 30))
    const crowded = keysOf(await own.read('subscription', id))
    expect(crowded).toHaveLength(20)
    expect(crowded).toEqual(expect.arrayContaining(['key-3', ...keys(make(15, 30))]))
    const later = await subscribe(own, await own.createCustomerWithCard('pm_card_visa'))
    expect(keysOf(await own.read('subscription', later.id))).toEqual(keys(make(15, 30)))
    // A price that is published again is added to the subscription again.
    await own.payments.publishPrices(make(10, 20))
    expect(await own.payments.listPublishedKeys()).toEqual(keys(make(10, 20)))
  })

  test('a full subscription is reported in the error, and other subscriptions are still updated', async () => {
    await own.payments.publishPrices(make(10, 20))
    const customer = await own.createCustomerWithCard('pm_card_visa')
    const { id } = await subscribe(own, customer)
    for (const { key: priceKey } of make(10, 20)) {
      const { customerId } = customer
      const identifier = `full-${priceKey}`
      await own.payments.sendUsage({ priceKey, customerId, identifier, quantity: 1, at: own.now() })
    }
    const other = await subscribe(own, await own.createCustomerWithCard('pm_card_visa'))
    await expect(own.payments.publishPrices(make(20, 40))).rejects.toThrow(id)
    expect(keysOf(await own.read('subscription', id))).toHaveLength(20)
    expect(keysOf(await own.read('subscription', other.id))).toEqual(keys(make(20, 40)))
    expect(await own.payments.listPublishedKeys()).toEqual(keys(make(20, 40)))
  })
})

test('listEvents: all events since a time, oldest first, with the customer', async () => {
  world.advance(60_000)
  const since = world.now()
  const customerId = await newCustomer()
  world.advance(1000)
  await world.stripe.paymentMethods.attach('pm_card_visa', { customer: customerId })
  const events = await Array.fromAsync(world.payments.listEvents(since))
  expect(events.map(({ type, customerId: about }) => [type, about])).toEqual([
    ['customer.created', customerId],
    ['customer.updated', customerId],
    ['payment_method.attached', customerId],
  ])
  expect(new Set(events.map(({ id }) => id)).size).toBe(3)
})
