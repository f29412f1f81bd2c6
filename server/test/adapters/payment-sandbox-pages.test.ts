import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { day, hour, prices, returnUrl, startTestSandbox, subscribe } from './payment-sandbox-support.ts'
import type { TestSandbox } from './payment-sandbox-support.ts'

let world: TestSandbox
beforeAll(async () => {
  world = await startTestSandbox()
  await world.payments.publishPrices(prices)
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

let organizationId = 0
async function openCheckout() {
  organizationId += 1
  const customerId = await world.payments.createCustomer({
    organizationId,
    email: 'a@example.com',
    name: '<b>Acme</b>',
  })
  const session = await world.payments.createSetupSession({
    customerId,
    organizationId,
    currency: 'usd',
    purpose: 'payment_method_setup',
    returnUrl,
  })
  return { customerId, session, address: `/sandbox/billing/checkout/${session.clientSecret}` }
}

test('checkout: a form that says what it is, with nothing from elsewhere', async () => {
  const { address } = await openCheckout()
  const page = await visit(address)
  expect(page.status).toBe(200)
  expect(page.text).toContain('Sandbox: nothing is charged')
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

test('checkout: a card that works is saved, once, and leads back with the session’s id', async () => {
  const { address, customerId, session } = await openCheckout()
  const page = await visit(address, card('4242 4242 4242 4242'))
  expect(page).toMatchObject({ status: 303, location: `http://localhost:8080/billing?session=${session.id}` })
  const again = await visit(address, card('5555555555554444'))
  expect(again).toMatchObject({ status: 303, location: page.location })
  expect(await visit(address)).toMatchObject({ status: 303, location: page.location })
  expect(await world.payments.listCards(customerId)).toMatchObject([
    { brand: 'visa', last4: '4242', expMonth: 12, expYear: 2029 },
  ])
  expect(await world.stripe.checkout.sessions.retrieve(session.id)).toMatchObject({
    status: 'complete',
    client_secret: null,
  })
  const types = await world.eventTypes()
  expect(types.slice(-3)).toEqual([
    'payment_method.attached',
    'setup_intent.succeeded',
    'checkout.session.completed',
  ])
})

test('checkout: a declined card is refused in words and can be replaced by another', async () => {
  const { address, customerId } = await openCheckout()
  const page = await visit(address, card('4000000000000002'))
  expect(page.status).toBe(422)
  expect(page.text).toContain('Your card was declined.')
  expect(page.text).toContain('role="alert"')
  expect(await world.payments.listCards(customerId)).toEqual([])
  expect((await visit(address, card('4242424242424242'))).status).toBe(303)
})

test.each([
  ['a number that is none', { number: '4242424242424243' }, 'This is not a card number.'],
  ['a card that might be real', { number: '4111111111111111' }, 'never a real card'],
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
  expect(await world.payments.listCards(customerId)).toEqual([])
})

test('checkout: a card that asks is saved after a yes, and not after a no', async () => {
  const { address, customerId, session } = await openCheckout()
  const asked = await visit(address, card('4000002500003155'))
  expect(asked).toMatchObject({ status: 303, location: `${address}/consent` })
  expect((await visit(`${address}/consent`)).text).toContain('Your bank asks')
  const refused = await visit(`${address}/consent`, { answer: 'no' })
  expect(refused.status).toBe(422)
  expect(refused.text).toContain('could not confirm')
  expect(await world.payments.listCards(customerId)).toEqual([])
  await visit(address, card('4000002500003155'))
  expect(await visit(`${address}/consent`, { answer: 'yes' })).toMatchObject({
    status: 303,
    location: `http://localhost:8080/billing?session=${session.id}`,
  })
  const [saved] = await world.payments.listCards(customerId)
  const result = await subscribe(world, { customerId, cardId: saved?.id ?? '' })
  expect(result.status).toBe('active')
})

test('checkout: after a day, and with a wrong address, there is no form', async () => {
  const { address, session } = await openCheckout()
  const before = world.now()
  world.advance(day)
  expect((await visit(address)).status).toBe(410)
  expect((await visit(address, card('4242424242424242'))).status).toBe(410)
  await world.tick()
  world.setTime(before)
  expect(await world.stripe.checkout.sessions.retrieve(session.id)).toMatchObject({ status: 'expired' })
  expect((await visit(`${address.slice(0, -1)}${address.endsWith('A') ? 'B' : 'A'}`)).status).toBe(404)
  expect((await visit(`/sandbox/billing/checkout/${session.id}`)).status).toBe(404)
  expect((await visit(address.replace('/checkout/', '/portal/'))).status).toBe(404)
  expect((await visit('/sandbox/billing/nothing')).status).toBe(404)
})

test('portal: cards and invoices of this customer alone; default, removal, a new card', async () => {
  const stranger = await openCheckout()
  await visit(stranger.address, card('5555555555554444'))
  const { address, customerId } = await openCheckout()
  await visit(address, card('4242424242424242'))
  const [first] = await world.payments.listCards(customerId)
  await world.payments.setDefaultCard(customerId, null, first?.id ?? '')
  const subscription = await subscribe(world, { customerId, cardId: first?.id ?? '' })
  const portal = new URL(
    await world.payments.createPortalSession(customerId, 'http://localhost:8080/billing'),
  ).pathname
  const page = await visit(portal)
  expect(page.text).toContain('•••• 4242')
  expect(page.text).toContain('&lt;b&gt;Acme&lt;/b&gt;')
  expect(page.text).toContain('Default')
  expect(page.text).toContain('href="http://localhost:8080/billing"')
  expect(page.text).not.toContain('4444')

  const toCheckout = await visit(`${portal}/add-card`, {})
  const back = await visit(toCheckout.location ?? '', card('4000000000000341'))
  expect(new URL(back.location ?? '').pathname).toBe(portal)
  const added = (await world.payments.listCards(customerId)).find(({ last4 }) => last4 === '0341')

  expect((await visit(`${portal}/cards/${first?.id}/remove`, {})).status).toBe(409)
  expect(await visit(`${portal}/cards/${added?.id}/default`, {})).toMatchObject({
    status: 303,
    location: portal,
  })
  expect(await world.payments.findSubscription(customerId)).toMatchObject({
    id: subscription.id,
    defaultPaymentMethodId: added?.id,
  })
  expect((await visit(`${portal}/cards/${first?.id}/remove`, {})).status).toBe(303)
  expect(await world.payments.listCards(customerId)).toMatchObject([{ last4: '0341', isDefault: true }])

  const [others] = await world.payments.listCards(stranger.customerId)
  await visit(`${portal}/cards/${others?.id}/remove`, {})
  expect(await world.payments.listCards(stranger.customerId)).toHaveLength(1)
  world.advance(hour)
  expect((await visit(portal)).status).toBe(410)
})

test('invoice: its page, its PDF, a failed and a good payment, and one that asks', async () => {
  const { address, customerId } = await openCheckout()
  await visit(address, card('4000000000000341'))
  const [saved] = await world.payments.listCards(customerId)
  const { currentPeriodEnd: end } = await subscribe(world, { customerId, cardId: saved?.id ?? '' })
  await world.payments.sendUsage({
    priceKey: prices[0]!.key,
    customerId,
    identifier: 'pages',
    at: world.now(),
    quantity: 1_234_500,
  })
  world.setTime(end)
  await world.tick()
  const [draft] = (await world.stripe.invoices.list({ customer: customerId, status: 'draft' })).data
  expect(draft?.hosted_invoice_url).toBeNull()
  world.advance(hour)
  await world.tick()
  const [invoice] = await world.payments.listInvoices(customerId)
  const page = new URL(invoice?.hostedInvoiceUrl ?? '').pathname
  const shown = await visit(page)
  expect(shown.text).toContain('$12.35')
  expect(shown.text).toContain('1234500 × Local CPU, seconds')
  expect(shown.text).toContain('$0.00001')
  expect(shown.text).toContain('To be paid')

  const pdf = await fetch(world.pagesUrl + new URL(invoice?.invoicePdf ?? '').pathname)
  expect(pdf.headers.get('content-type')).toBe('application/pdf')
  const bytes = Buffer.from(await pdf.arrayBuffer())
  expect(bytes.subarray(0, 5).toString()).toBe('%PDF-')
  expect(bytes.subarray(-6).toString().trim()).toBe('%%EOF')
  expect(bytes.length).toBeGreaterThan(1000)

  const failed = await visit(`${page}/pay`, { card: saved?.id ?? '' })
  expect(failed.status).toBe(422)
  expect(failed.text).toContain('Your card was declined.')
  const stranger = await world.createCustomerWithCard('pm_card_visa')
  expect((await visit(`${page}/pay`, { card: stranger.cardId })).text).toContain('not there any more')

  const asked = await visit(`${page}/pay`, card('4000002760003184'))
  const [, hidden = ''] = /name="card" value="([^"]+)"/.exec(asked.text) ?? []
  expect(asked.text).toContain('pay $12.35')
  expect((await visit(`${page}/pay`, { card: hidden, answer: 'no' })).text).toContain('Nothing was paid')
  expect(await visit(`${page}/pay`, { card: hidden, answer: 'yes' })).toMatchObject({
    status: 303,
    location: page,
  })
  expect((await visit(page)).text).toContain('Paid')
  expect(await world.payments.findSubscription(customerId)).toMatchObject({ status: 'active' })
  expect((await visit(`${page}/pay`, card('4242424242424242'))).status).toBe(303)
  expect((await world.payments.listInvoices(customerId))[0]).toMatchObject({
    status: 'paid',
    amountPaid: 1235,
  })
})
