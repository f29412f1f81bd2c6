import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cheap, day, hour, publishPrices, returnUrl, startTestSandbox } from './support.ts'
import type { TestSandbox } from './support.ts'

let world: TestSandbox
beforeAll(async () => {
  world = await startTestSandbox()
  await publishPrices(world)
})
afterAll(() => world.close())

interface Page {
  status: number
  location: string | null
  headers: Headers
  text: string
}

/** Opens a page, or sends its form when there are `fields`, by the path of an address. */
async function visit(address: string, fields?: Record<string, string>): Promise<Page> {
  const { pathname, search } = new URL(address, world.pagesUrl)
  const response = await fetch(world.pagesUrl + pathname + search, {
    redirect: 'manual',
    ...(fields === undefined ? {} : { method: 'POST', body: new URLSearchParams(fields) }),
  })
  const { status, headers } = response
  return { status, headers, location: headers.get('location'), text: await response.text() }
}

function card(number: string, changes: Record<string, string> = {}) {
  return { number, expiry: '12 / 29', cvc: '123', name: 'Ada Lovelace', ...changes }
}

async function openCheckout() {
  const customerId = await world.createCustomer('<b>Acme</b>')
  const session = await world.stripe.checkout.sessions.create({
    mode: 'setup',
    ui_mode: 'embedded_page',
    customer: customerId,
    currency: 'usd',
    return_url: returnUrl,
  })
  return { customerId, session, address: `/sandbox/billing/checkout/${session.client_secret}` }
}

async function listCards(customerId: string) {
  const { data } = await world.stripe.customers.listPaymentMethods(customerId)
  return data.map(({ id, card: saved }) => ({ id, ...saved }))
}

test('checkout: a form labeled as a sandbox, with nothing from other origins', async () => {
  const { address } = await openCheckout()
  const page = await visit(address)
  expect(page.status).toBe(200)
  expect(page.text).toContain('Sandbox: no real charges')
  expect(page.text).toContain('4000 0025 0000 3155')
  expect(page.text).not.toMatch(/<script|src=|https?:\/\//)
  const [, style = ''] = /<style>([^]*)<\/style>/.exec(page.text) ?? []
  const hash = createHash('sha256').update(style).digest('base64')
  expect(page.headers.get('content-security-policy')).toContain(
    `default-src 'none'; style-src 'sha256-${hash}'`,
  )
  expect(page.headers.get('cache-control')).toBe('no-store')
  expect(page.headers.get('referrer-policy')).toBe('same-origin')
  expect((await visit(`${address}?card=4242`)).text).toContain('value="4242 4242 4242 4242"')
})

test('checkout: a card that succeeds is saved once and redirects back with the session’s id', async () => {
  const { address, customerId, session } = await openCheckout()
  const page = await visit(address, card('4242 4242 4242 4242'))
  expect(page).toMatchObject({ status: 303, location: `http://localhost:8080/billing?session=${session.id}` })
  const again = await visit(address, card('5555555555554444'))
  expect(again).toMatchObject({ status: 303, location: page.location })
  expect(await visit(address)).toMatchObject({ status: 303, location: page.location })
  expect(await listCards(customerId)).toMatchObject([
    { brand: 'visa', last4: '4242', exp_month: 12, exp_year: 2029 },
  ])
  expect(await world.read('checkout.session', session.id)).toMatchObject({ status: 'complete' })
  const types = await world.eventTypes()
  expect(types.slice(-2)).toEqual(['payment_method.attached', 'checkout.session.completed'])
})

test('checkout: a declined card shows an error, and another card can be entered', async () => {
  const { address, customerId } = await openCheckout()
  const page = await visit(address, card('4000000000000002'))
  expect(page.status).toBe(422)
  expect(page.text).toContain('Your card was declined.')
  expect(page.text).toContain('role="alert"')
  expect(await listCards(customerId)).toEqual([])
  expect((await visit(address, card('4242424242424242'))).status).toBe(303)
})

test.each([
  ['an invalid number', { number: '4242424242424243' }, 'Enter a valid card number.'],
  ['a card that could be real', { number: '4111111111111111' }, 'never a real card'],
  ['an expired card', { expiry: '10/26' }, 'The card has expired.'],
  ['no date', { expiry: '13/29' }, 'Enter month and year'],
  ['a wrong CVC', { cvc: '12' }, 'Enter the 3 or 4 digits.'],
  ['no name', { name: ' ' }, 'Enter the name on the card.'],
])('checkout: %s', async (_what, changes, message) => {
  const { address, customerId } = await openCheckout()
  const page = await visit(address, card('4242424242424242', { name: '"><script>x</script>', ...changes }))
  expect(page.status).toBe(422)
  expect(page.text).toContain(message)
  expect(page.text).toContain('aria-invalid="true"')
  expect(page.text).not.toContain('<script>')
  expect(await listCards(customerId)).toEqual([])
})

test('checkout: a card with bank verification is saved once it is approved, and not if it is declined', async () => {
  const { address, customerId, session } = await openCheckout()
  const verify = async () => {
    const page = await visit(address, card('4000002500003155'))
    expect(page.text).toContain('Bank verification')
    return hiddenCard(page)
  }
  const declined = await visit(address, { card: await verify(), answer: 'no' })
  expect(declined.status).toBe(422)
  expect(declined.text).toContain('Your bank did not approve the card.')
  expect(await listCards(customerId)).toEqual([])
  const other = await openCheckout()
  expect((await visit(other.address, { card: await verify(), answer: 'yes' })).status).toBe(422)
  expect(await visit(address, { card: await verify(), answer: 'yes' })).toMatchObject({
    status: 303,
    location: `http://localhost:8080/billing?session=${session.id}`,
  })
  const [saved] = await listCards(customerId)
  const { status } = await world.subscribe({ customerId, cardId: saved!.id })
  expect(status).toBe('active')
})

/** The id of the card in the form of the bank verification. */
function hiddenCard({ text }: Page): string {
  return /name="card" value="([^"]+)"/.exec(text)?.[1] ?? ''
}

test('checkout: 410 after a day, 404 with a wrong secret', async () => {
  const { address, session } = await openCheckout()
  const before = world.now()
  world.advance(day)
  expect((await visit(address)).status).toBe(410)
  expect((await visit(address, card('4242424242424242'))).status).toBe(410)
  await world.tick()
  world.setTime(before)
  expect(await world.read('checkout.session', session.id)).toMatchObject({ status: 'expired' })
  expect((await visit(`${address.slice(0, -1)}${address.endsWith('A') ? 'B' : 'A'}`)).status).toBe(404)
  expect((await visit(`/sandbox/billing/checkout/${session.id}`)).status).toBe(404)
  expect((await visit(address.replace('/checkout/', '/portal/'))).status).toBe(404)
  expect((await visit('/sandbox/billing/nothing')).status).toBe(404)
})

test('portal: the cards and invoices of this customer only, for an hour', async () => {
  const stranger = await openCheckout()
  await visit(stranger.address, card('5555555555554444'))
  const { address, customerId } = await openCheckout()
  await visit(address, card('4242424242424242'))
  const [first] = await listCards(customerId)
  const settings = { default_payment_method: first!.id }
  await world.stripe.customers.update(customerId, { invoice_settings: settings })
  await world.subscribe({ customerId, cardId: first!.id })
  const { url } = await world.stripe.billingPortal.sessions.create({
    customer: customerId,
    return_url: 'http://localhost:8080/billing',
  })
  const portal = new URL(url).pathname
  const page = await visit(portal)
  expect(page.text).toContain('•••• 4242')
  expect(page.text).toContain('&lt;b&gt;Acme&lt;/b&gt;')
  expect(page.text).toContain('Default')
  expect(page.text).toContain('href="http://localhost:8080/billing"')
  expect(page.text).not.toContain('4444')
  const [, invoice] = /href="([^"]*\/invoices\/[^"]*)"/.exec(page.text)!
  expect((await visit(new URL(invoice!).pathname)).text).toContain('Paid')
  world.advance(hour)
  expect((await visit(portal)).status).toBe(410)
})

test('invoice: its page, a declined payment, and one with bank verification', async () => {
  const { address, customerId } = await openCheckout()
  await visit(address, card('4000000000000341'))
  const [saved] = await listCards(customerId)
  const { id: subscriptionId, items } = await world.subscribe({ customerId, cardId: saved!.id })
  await world.use(customerId, cheap, 1_234_500)
  world.setTime(new Date(items.data[0]!.current_period_end * 1000))
  await world.tick()
  const [draft] = (await world.stripe.invoices.list({ customer: customerId })).data
  expect(draft).toMatchObject({ status: 'draft', hosted_invoice_url: null })
  world.advance(hour)
  await world.tick()
  const [invoice] = (await world.stripe.invoices.list({ customer: customerId })).data
  const page = new URL(invoice!.hosted_invoice_url ?? '').pathname
  const shown = await visit(page)
  for (const text of ['$12.35', '1,234,500', `Seconds of ${cheap}`, '$0.00001', 'Open']) {
    expect(shown.text).toContain(text)
  }

  const failed = await visit(`${page}/pay`, { card: saved!.id })
  expect(failed.status).toBe(422)
  expect(failed.text).toContain('Your card was declined.')
  const stranger = await world.createCustomerWithCard('pm_card_visa')
  expect((await visit(`${page}/pay`, { card: stranger.cardId })).text).toContain('This card was removed')

  const verification = await visit(`${page}/pay`, card('4000002760003184'))
  expect(verification.text).toContain('pay $12.35')
  const hidden = hiddenCard(verification)
  const declined = await visit(`${page}/pay`, { card: hidden, answer: 'no' })
  expect(declined.text).toContain('You were not charged.')
  expect(await visit(`${page}/pay`, { card: hidden, answer: 'yes' })).toMatchObject({
    status: 303,
    location: page,
  })
  expect((await visit(page)).text).toContain('Paid')
  expect((await world.read('subscription', subscriptionId)).status).toBe('active')
  expect((await visit(`${page}/pay`, card('4242424242424242'))).status).toBe(303)
  expect(await world.read('invoice', invoice!.id)).toMatchObject({ status: 'paid', amount_paid: 1235 })
})
