import { afterAll, beforeAll, expect, test } from 'vitest'
import { day, hour, prices, startTestSandbox, subscribe } from './payment-sandbox-support.ts'
import type { TestSandbox } from './payment-sandbox-support.ts'

let world: TestSandbox
beforeAll(async () => {
  world = await startTestSandbox()
  await world.payments.publishPrices(prices)
})
afterAll(() => world.close())

const [cheap, fine] = prices as [(typeof prices)[0], (typeof prices)[0]]

/** A subscription that began now, with usage of both prices within its first hour. */
async function startMonth(token: string, usage: { cheap: number; fine: number }) {
  const customer = await world.createCustomerWithCard(token)
  const subscription = await subscribe(world, customer)
  await use(customer.customerId, cheap.key, usage.cheap)
  await use(customer.customerId, fine.key, usage.fine)
  return { ...customer, subscription }
}

let sends = 0
function use(customerId: string, priceKey: string, quantity: number, at = world.now()) {
  sends += 1
  return world.payments.sendUsage({ priceKey, customerId, identifier: `use-${sends}`, at, quantity })
}

async function reach(time: Date): Promise<void> {
  world.setTime(time)
  await world.tick()
}

function later(time: Date, milliseconds: number): Date {
  return new Date(time.getTime() + milliseconds)
}

async function statusOf(customerId: string) {
  return (await world.payments.findSubscription(customerId))?.status
}

test('the first invoice is of nothing and paid', async () => {
  const { customerId } = await startMonth('pm_card_visa', { cheap: 1, fine: 1 })
  expect(await world.payments.listInvoices(customerId)).toEqual([
    {
      id: expect.stringMatching(/^in_/),
      status: 'paid',
      collectionMethod: 'charge_automatically',
      amountDue: 0,
      amountPaid: 0,
      currency: 'usd',
      hostedInvoiceUrl: expect.stringMatching(/\/sandbox\/billing\/invoices\/in_\w+_secret_[\w-]{43}$/),
      invoicePdf: expect.stringMatching(/\/pdf$/),
      dueDate: null,
      periodStart: world.now(),
      periodEnd: world.now(),
      created: world.now(),
    },
  ])
})

test('a month: a draft at its end that late usage reaches, finalized after an hour, charged and paid to the cent', async () => {
  const { customerId, subscription } = await startMonth('pm_card_visa', { cheap: 2_592_000, fine: 1_000_003 })
  const { currentPeriodStart: start, currentPeriodEnd: end } = subscription
  // At the period's last second, and at the first of the next one.
  world.setTime(later(end, -1000))
  await use(customerId, cheap.key, 500)
  world.setTime(end)
  await use(customerId, cheap.key, 7_000_000)
  await reach(end)
  const [draft] = (await world.stripe.invoices.list({ customer: customerId, status: 'draft' })).data
  expect(draft).toMatchObject({ status: 'draft', billing_reason: 'subscription_cycle' })
  expect(await world.payments.listInvoices(customerId)).toHaveLength(1)
  expect(await world.payments.findSubscription(customerId)).toMatchObject({
    status: 'active',
    currentPeriodStart: end,
    currentPeriodEnd: new Date('2027-01-10T09:30:00Z'),
  })
  await use(customerId, cheap.key, 2500, later(end, -2000))

  await reach(later(end, hour))
  const [invoice] = await world.payments.listInvoices(customerId)
  // 2,595,000 × 0.001 ¢ = 2595 ¢; 1,000,003 × 0.123456789 ¢ = 123,457.15936… ¢, rounded for each line.
  expect(invoice).toMatchObject({
    id: draft?.id,
    status: 'paid',
    amountDue: 2595 + 123_457,
    amountPaid: 2595 + 123_457,
    periodStart: start,
    periodEnd: end,
  })
  const { lines, number } = await world.stripe.invoices.retrieve(draft?.id ?? '')
  expect(number).toMatch(/-0002$/)
  expect(
    lines.data.map(({ amount, quantity_decimal: quantity, pricing }) => [
      amount,
      String(quantity),
      String(pricing?.unit_amount_decimal),
    ]),
  ).toEqual([
    [2595, '2595000', '0.001'],
    [123_457, '1000003', '0.123456789'],
  ])
})

test('half a cent is a cent, less is nothing', async () => {
  const { customerId, subscription } = await startMonth('pm_card_visa', { cheap: 500, fine: 4 })
  const end = subscription.currentPeriodEnd
  await reach(end)
  await reach(later(end, hour))
  const [invoice] = await world.payments.listInvoices(customerId)
  // 0.5 ¢ and 0.493827156 ¢.
  expect(invoice).toMatchObject({ amountDue: 1, status: 'paid' })
})

test('a card that fails: past due, three more attempts, then unpaid; paying by hand makes it active again', async () => {
  const { customerId, subscription } = await startMonth('pm_card_chargeCustomerFail', {
    cheap: 1_000_000,
    fine: 0,
  })
  const end = subscription.currentPeriodEnd
  await reach(end)
  let now = later(end, hour)
  await reach(now)
  const [invoice] = await world.payments.listInvoices(customerId)
  expect(invoice).toMatchObject({ status: 'open', amountDue: 1000, amountPaid: 0 })
  expect(await statusOf(customerId)).toBe('past_due')
  for (const [wait, status] of [
    [3, 'past_due'],
    [5, 'past_due'],
    [7, 'unpaid'],
  ] as const) {
    await reach(later(now, wait * day - 1))
    const before = await world.stripe.invoices.retrieve(invoice?.id ?? '')
    now = later(now, wait * day)
    await reach(now)
    const after = await world.stripe.invoices.retrieve(invoice?.id ?? '')
    expect(after.attempt_count).toBe(before.attempt_count + 1)
    expect(await statusOf(customerId)).toBe(status)
  }
  const { delinquent } = (await world.stripe.customers.retrieve(customerId)) as { delinquent?: boolean }
  expect(delinquent).toBe(true)

  const card = await world.stripe.paymentMethods.attach('pm_card_visa', { customer: customerId })
  await expect(world.stripe.invoices.pay(invoice?.id ?? '')).rejects.toMatchObject({ code: 'card_declined' })
  // The refusal was an attempt all the same.
  expect((await world.stripe.invoices.retrieve(invoice?.id ?? '')).attempt_count).toBe(5)
  await world.stripe.invoices.pay(invoice?.id ?? '', { payment_method: card.id })
  expect(await statusOf(customerId)).toBe('active')
  expect((await world.payments.listInvoices(customerId))[0]).toMatchObject({
    status: 'paid',
    amountPaid: 1000,
  })
  const types = await world.eventTypes()
  for (const type of ['invoice.payment_failed', 'invoice.paid', 'customer.subscription.updated']) {
    expect(types).toContain(type)
  }
})

test('a card that asks its owner each time fails without them and says so', async () => {
  const customer = await world.createCustomerWithCard('pm_card_visa')
  const { currentPeriodEnd: end, id } = await subscribe(world, customer)
  await use(customer.customerId, cheap.key, 1_000_000)
  const asking = await world.stripe.paymentMethods.attach('pm_card_authenticationRequired', {
    customer: customer.customerId,
  })
  await world.payments.setDefaultCard(customer.customerId, id, asking.id)
  await reach(end)
  await reach(later(end, hour))
  expect(await statusOf(customer.customerId)).toBe('past_due')
  expect(await world.eventTypes()).toContain('invoice.payment_action_required')
})

test('invoices that are sent: open for 30 days, then overdue and past due', async () => {
  const { customerId, cardId, subscription } = await startMonth('pm_card_visa', { cheap: 1_000_000, fine: 0 })
  await world.payments.setCollectionMethod(subscription.id, 'send_invoice', null)
  const end = subscription.currentPeriodEnd
  await reach(end)
  const finalizedAt = later(end, hour)
  await reach(finalizedAt)
  const dueDate = later(finalizedAt, 30 * day)
  const [invoice] = await world.payments.listInvoices(customerId)
  expect(invoice).toMatchObject({
    status: 'open',
    collectionMethod: 'send_invoice',
    amountDue: 1000,
    dueDate,
  })
  expect(await statusOf(customerId)).toBe('active')
  await reach(later(dueDate, -1))
  expect(await statusOf(customerId)).toBe('active')
  await reach(dueDate)
  expect(await statusOf(customerId)).toBe('past_due')
  expect(await world.eventTypes()).toContain('invoice.overdue')
  await world.stripe.invoices.pay(invoice?.id ?? '', { payment_method: cardId })
  expect(await statusOf(customerId)).toBe('active')
})

test('a clock that stood still for three months makes three invoices, one for each', async () => {
  const { customerId, subscription } = await startMonth('pm_card_visa', { cheap: 1_000_000, fine: 0 })
  const start = subscription.currentPeriodStart
  const ends = await reachMonths(start, 3)
  const invoices = (await world.stripe.invoices.list({ customer: customerId, limit: 100 })).data
  expect(invoices.map(({ period_end: end }) => end * 1000).toReversed()).toEqual([start.getTime(), ...ends])
})

async function reachMonths(start: Date, months: number): Promise<number[]> {
  const ends = Array.from({ length: months }, (_, index) => {
    const end = new Date(start)
    end.setUTCMonth(end.getUTCMonth() + index + 1)
    return end.getTime()
  })
  await reach(new Date(ends.at(-1) ?? 0))
  return ends
}

test('two workers at once and a repeated run do nothing twice', async () => {
  const { customerId, subscription } = await startMonth('pm_card_visa', { cheap: 1_000_000, fine: 0 })
  const end = subscription.currentPeriodEnd
  world.setTime(end)
  await Promise.all([world.tick(), world.tick(), world.tick()])
  world.setTime(later(end, hour))
  await Promise.all([world.tick(), world.tick(), world.tick()])
  await world.tick()
  expect(await world.payments.listInvoices(customerId)).toMatchObject([
    { amountPaid: 1000 },
    { amountPaid: 0 },
  ])
})
