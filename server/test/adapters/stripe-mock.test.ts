import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createStripeProcessor } from '../../src/adapters/payment-processor/stripe/processor.ts'
import { callEverything } from './stripe-calls.ts'
import { connect, prices, returnUrl, startTestProcessor } from './stripe-support.ts'
import type { TestProcessor } from './stripe-support.ts'

/** Address of stripe-mock; `npm run test:stripe-mock` installs and starts it. */
const address = process.env['STRIPE_MOCK_URL']
const secretKey = 'sk_test_123'

interface Validation {
  call: string
  status: number
  error: string
}

/**
 * stripe-mock validates requests against Stripe's OpenAPI description, and answers with examples from it. It
 * keeps no state, so the sandbox answers the calls and stripe-mock judges a copy of each.
 */
describe.skipIf(address === undefined)('Stripe’s mock', () => {
  let world: TestProcessor
  beforeAll(async () => {
    world = await startTestProcessor()
  })
  afterAll(() => world?.close())

  async function validate(target: string | URL | Request, init: RequestInit = {}): Promise<Validation> {
    const { pathname, search } = new URL(target instanceof Request ? target.url : target)
    const headers = new Headers(init.headers)
    headers.set('authorization', `Bearer ${secretKey}`)
    const method = init.method ?? 'GET'
    const answer = await fetch(`${address}${pathname}${search}`, { ...init, headers })
    const { error } = (await answer.json()) as { error?: { message: string } }
    return { call: `${method} ${pathname}`, status: answer.status, error: error?.message ?? '' }
  }

  function connectToMock() {
    return createStripeProcessor({
      name: 'stripe',
      secretKey,
      publishableKey: 'pk_test_x',
      webhookSecret: 'whsec_x',
      installation: 'test',
      transport: (target, init) => {
        const { pathname, search } = new URL(target instanceof Request ? target.url : target)
        return fetch(`${address}${pathname}${search}`, init)
      },
    })
  }

  test('accepts every request that Berth sends', async () => {
    const validations: Validation[] = []
    const payments = connect(world, {
      async transport(target, init) {
        validations.push(await validate(target, init))
        return world.sandbox.fetch(target, init)
      },
    })
    await callEverything(world, payments)
    expect(validations.length).toBeGreaterThan(30)
    expect(validations.filter(({ status }) => status !== 200)).toEqual([])
  })

  test('rejects an unknown parameter and a wrong value', async () => {
    const send = (path: string, body: string) =>
      validate(`${address}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body,
      })
    expect(await send('/v1/customers', 'name=Acme')).toMatchObject({ status: 200 })
    expect(await send('/v1/customers', 'colour=red')).toMatchObject({ status: 400 })
    expect(await send('/v1/subscriptions', 'customer=cus_1&off_session=perhaps')).toMatchObject({
      status: 400,
    })
  })

  // Not the setup session: the example is a hosted page, which has no client secret.
  test('its examples of responses have everything that Berth reads', async () => {
    const payments = connectToMock()
    const customerId = await payments.createCustomer({ organizationId: 1, email: 'a@b.c', name: 'Acme' })
    expect(customerId).toMatch(/^cus_/)
    expect(await payments.hasCustomer(customerId)).toBe(true)
    expect(await payments.listCards(customerId)).toMatchObject([
      { id: expect.stringMatching(/^pm_/), last4: expect.stringMatching(/^\d{4}$/) },
    ])
    expect(await payments.findSubscription(customerId)).toMatchObject({ id: expect.stringMatching(/^sub_/) })
    expect(await payments.setCollectionMethod('sub_1', 'send_invoice', null)).toMatchObject({
      status: expect.any(String),
    })
    expect(await payments.createPortalSession(customerId, returnUrl)).toMatch(/^https:/)
    for (const invoice of await payments.listInvoices(customerId)) {
      expect(invoice).toMatchObject({ id: expect.stringMatching(/^in_/) })
    }
    const [{ key: priceKey }] = prices as [(typeof prices)[0]]
    const at = new Date()
    await payments.sendUsage({ priceKey, customerId, identifier: 'a', at, quantity: 1 })
    expect(await Array.fromAsync(payments.listEvents(at))).toEqual(expect.any(Array))
  })
})
