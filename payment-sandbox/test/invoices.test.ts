import { afterAll, beforeAll, expect, test } from 'vitest'
import { cheap, day, hour, precise, publishPrices, startTestSandbox } from './support.ts'
import type { TestSandbox } from './support.ts'

let world: TestSandbox
beforeAll(async () => {
  world = await startTestSandbox()
  await publishPrices(world)
})
afterAll(() => world.close())

/** A subscription that starts now, with usage of both prices in its first hour. */
async function startMonth(token: string, usage: { cheap: number; precise: number }) {
  const customer = await world.createCustomerWithCard(token)
  const { id, items } = await world.subscribe(customer)
  await world.use(customer.customerId, cheap, usage.cheap)
  await world.use(customer.customerId, precise, usage.precise)
  const end = new Date(items.data[0]!.current_period_end * 1000)
  return { ...customer, subscriptionId: id, end }
}

async function reach(time: Date): Promise<void> {
  world.setTime(time)
  await world.tick()
}

function later(time: Date, milliseconds: number): Date {
  return new Date(time.getTime() + milliseconds)
}

async function statusOf(subscriptionId: string) {
  return (await world.read('subscription', subscriptionId)).status
}

/** Pays an invoice on its page with a card of its customer. */
function pay(invoiceUrl: string | null | undefined, cardId: string): Promise<Response> {
  const { pathname } = new URL(invoiceUrl ?? '')
  return fetch(`${world.pagesUrl}${pathname}/pay`, {
    method: 'POST',
    body: new URLSearchParams({ card: cardId }),
    redirect: 'manual',
  })
}

async function newestInvoice(customer: string) {
  return (await world.stripe.invoices.list({ customer })).data[0]!
}

test('the first invoice has no usage and is paid', async () => {
  const { customerId } = await startMonth('pm_card_visa', { cheap: 1, precise: 1 })
  expect(await newestInvoice(customerId)).toMatchObject({
    billing_reason: 'subscription_create',
    status: 'paid',
    amount_due: 0,
    amount_paid: 0,
    hosted_invoice_url: expect.stringMatching(/\/sandbox\/billing\/invoices\/in_\w+_secret_[\w-]{43}$/),
    invoice_pdf: expect.stringMatching(/\/sandbox\/billing\/invoices\/in_\w+_secret_[\w-]{43}$/),
  })
})

test('a month: late usage reaches the draft, which is finalized after an hour, charged and paid to the cent', async () => {
  const usage = { cheap: 2_592_000, precise: 1_000_003 }
  const { customerId, subscriptionId, end } = await startMonth('pm_card_visa', usage)
  // In the last second of the period, and in the first second of the next one.
  world.setTime(later(end, -1000))
  await world.use(customerId, cheap, 500)
  world.setTime(end)
  await world.use(customerId, cheap, 7_000_000)
  await reach(end)
  const [draft] = await world.listInvoices(customerId)
  expect(draft).toMatchObject({ status: 'draft', billing_reason: 'subscription_cycle' })
  const { status, items } = await world.read('subscription', subscriptionId)
  expect(status).toBe('active')
  expect(items.data[0]).toMatchObject({
    current_period_start: end.getTime() / 1000,
    current_period_end: Date.parse('2027-01-10T09:30:00Z') / 1000,
  })
  await world.use(customerId, cheap, 2500, later(end, -2000))

  await reach(later(end, hour))
  // 2,595,000 × 0.001 ¢ = 2595 ¢; 1,000,003 × 0.123456789 ¢ = 123,457.15936… ¢, each line rounded.
  const invoice = await world.read('invoice', draft!.id)
  expect(invoice).toMatchObject({
    status: 'paid',
    amount_due: 2595 + 123_457,
    amount_paid: 2595 + 123_457,
    period_end: end.getTime() / 1000,
    number: expect.stringMatching(/-0002$/),
  })
  const lines = invoice.lines.data.map(({ amount, quantity_decimal: quantity }) => [quantity, amount])
  expect(Object.fromEntries(lines)).toEqual({ '2595000': 2595, '1000003': 123_457 })
})

test('half a cent is rounded up, less is rounded down, and a price without usage has no line', async () => {
  const { customerId, end } = await startMonth('pm_card_visa', { cheap: 500, precise: 0 })
  const { customerId: other } = await startMonth('pm_card_visa', { cheap: 0, precise: 4 })
  await reach(end)
  await reach(later(end, hour))
  expect(await newestInvoice(customerId)).toMatchObject({ amount_due: 1, status: 'paid' })
  // 0.493827156 ¢
  expect(await newestInvoice(other)).toMatchObject({ amount_due: 0, status: 'paid' })
  expect((await newestInvoice(customerId)).lines.data).toHaveLength(1)
})

test('a card that fails: past_due, three more attempts, then unpaid; paying on the page makes it active again', async () => {
  const failing = await startMonth('pm_card_chargeCustomerFail', { cheap: 1_000_000, precise: 0 })
  const { customerId, subscriptionId, end } = failing
  await reach(end)
  let now = later(end, hour)
  await reach(now)
  const { id, hosted_invoice_url: url, ...invoice } = await newestInvoice(customerId)
  expect(invoice).toMatchObject({ status: 'open', amount_due: 1000, amount_paid: 0 })
  expect(await statusOf(subscriptionId)).toBe('past_due')
  for (const [attempts, wait, status] of [
    [2, 3, 'past_due'],
    [3, 5, 'past_due'],
    [4, 7, 'unpaid'],
  ] as const) {
    await reach(later(now, wait * day - 1))
    expect((await world.read('invoice', id)).attempt_count).toBe(attempts - 1)
    now = later(now, wait * day)
    await reach(now)
    expect((await world.read('invoice', id)).attempt_count).toBe(attempts)
    expect(await statusOf(subscriptionId)).toBe(status)
  }

  expect((await pay(url, failing.cardId)).status).toBe(422)
  // The refusal counts as an attempt.
  expect((await world.read('invoice', id)).attempt_count).toBe(5)
  const card = await world.stripe.paymentMethods.attach('pm_card_visa', { customer: customerId })
  expect((await pay(url, card.id)).status).toBe(303)
  expect(await statusOf(subscriptionId)).toBe('active')
  expect(await world.read('invoice', id)).toMatchObject({ status: 'paid', amount_paid: 1000 })
  const types = await world.eventTypes()
  for (const type of ['invoice.payment_failed', 'invoice.paid', 'customer.subscription.updated']) {
    expect(types).toContain(type)
  }
})

test('a card that needs bank verification for every payment fails without its owner', async () => {
  const { customerId, subscriptionId, end } = await startMonth('pm_card_visa', {
    cheap: 1_000_000,
    precise: 0,
  })
  const card = await world.stripe.paymentMethods.attach('pm_card_authenticationRequired', {
    customer: customerId,
  })
  await world.stripe.subscriptions.update(subscriptionId, { default_payment_method: card.id })
  await reach(end)
  await reach(later(end, hour))
  expect(await statusOf(subscriptionId)).toBe('past_due')
})

test('send_invoice: open for 30 days, then overdue and past_due', async () => {
  const { customerId, cardId, subscriptionId, end } = await startMonth('pm_card_visa', {
    cheap: 1_000_000,
    precise: 0,
  })
  await world.stripe.subscriptions.update(subscriptionId, {
    collection_method: 'send_invoice',
    days_until_due: 30,
  })
  await reach(end)
  const finalizedAt = later(end, hour)
  await reach(finalizedAt)
  const dueDate = later(finalizedAt, 30 * day)
  const invoice = await newestInvoice(customerId)
  expect(invoice).toMatchObject({
    status: 'open',
    collection_method: 'send_invoice',
    amount_due: 1000,
    due_date: dueDate.getTime() / 1000,
  })
  expect(await statusOf(subscriptionId)).toBe('active')
  await reach(later(dueDate, -1))
  expect(await statusOf(subscriptionId)).toBe('active')
  await reach(dueDate)
  expect(await statusOf(subscriptionId)).toBe('past_due')
  expect(await world.eventTypes()).toContain('invoice.overdue')
  expect((await pay(invoice.hosted_invoice_url, cardId)).status).toBe(303)
  expect(await statusOf(subscriptionId)).toBe('active')
})

test('a clock that stopped for three months creates three invoices, one for each period', async () => {
  const { customerId, end } = await startMonth('pm_card_visa', { cheap: 1_000_000, precise: 0 })
  const ends = [0, 1, 2].map((months) => {
    const each = new Date(end)
    each.setUTCMonth(each.getUTCMonth() + months)
    return each
  })
  await reach(ends.at(-1)!)
  const invoices = (await world.listInvoices(customerId)).toReversed()
  expect(invoices.slice(1).map(({ period_end: each }) => new Date(each * 1000))).toEqual(ends)
})

test('concurrent workers and a repeated run do nothing twice', async () => {
  const { customerId, end } = await startMonth('pm_card_visa', { cheap: 1_000_000, precise: 0 })
  world.setTime(end)
  await Promise.all([world.tick(), world.tick(), world.tick()])
  world.setTime(later(end, hour))
  await Promise.all([world.tick(), world.tick(), world.tick()])
  await world.tick()
  expect(await world.listInvoices(customerId)).toMatchObject([{ amount_paid: 1000 }, { amount_paid: 0 }])
})
