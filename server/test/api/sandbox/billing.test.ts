import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSandboxTables } from '../../support/sandbox.ts'
import { startTestServer } from '../../support/server.ts'
import type { TestServer } from '../../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

async function openCheckout(): Promise<string> {
  const { payments } = server.application
  const customerId = await payments.createCustomer({
    organizationId: 1,
    email: 'a@example.com',
    name: 'Acme',
  })
  const { clientSecret } = await payments.createSetupSession({
    customerId,
    organizationId: 1,
    currency: 'usd',
    purpose: 'payment_method_setup',
    returnUrl: `${server.url}/billing`,
  })
  return `${server.url}/sandbox/billing/checkout/${clientSecret}`
}

const card = { number: '4242424242424242', expiry: '12/40', cvc: '123', name: 'Ada Lovelace' }

function send(address: string, headers: Record<string, string>) {
  return fetch(address, { method: 'POST', redirect: 'manual', body: new URLSearchParams(card), headers })
}

test('/sandbox/billing/checkout: the page needs no session', async () => {
  const answer = await fetch(await openCheckout())
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
})

test('/sandbox/billing/checkout: a cross-site form is a 403, a same-origin form is accepted', async () => {
  const address = await openCheckout()
  for (const headers of [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://elsewhere.example' },
    { origin: 'null' },
  ] as Record<string, string>[]) {
    expect((await send(address, headers)).status).toBe(403)
  }
  expect((await send(address, { 'sec-fetch-site': 'same-origin', origin: server.url })).status).toBe(303)
})

test('/sandbox/billing: 415 for a body that is not a form, 413 for a long one, 404 for an unknown secret', async () => {
  const address = await openCheckout()
  const json = { method: 'POST', headers: { 'content-type': 'text/plain' }, body: '{}' }
  expect((await fetch(address, json)).status).toBe(415)
  const long = await fetch(address, {
    method: 'POST',
    body: new URLSearchParams({ ...card, name: 'x'.repeat(20_000) }),
  })
  expect(long.status).toBe(413)
  expect((await fetch(`${server.url}/sandbox/billing/checkout/%00`)).status).toBe(404)
  expect((await fetch(`${server.url}/sandbox/billing/invoices/${'x'.repeat(10_000)}`)).status).toBe(404)
})

test('a job delivers the sandbox’s events to billing', async () => {
  await openCheckout()
  const tables = openSandboxTables(server.application)
  const undelivered = () =>
    tables.selectFrom('events').select(['id', 'last_error']).where('delivered_at', 'is', null).execute()
  await expect.poll(undelivered).toEqual([])
})

test('openapi.json does not list the pages', async () => {
  const { paths } = (await (await fetch(`${server.url}/openapi.json`)).json()) as { paths: object }
  expect(Object.keys(paths).filter((path) => path.startsWith('/sandbox'))).toEqual([])
})

test('BILLING_PROCESSOR=stripe: no sandbox, and Stripe’s publishable key', async () => {
  const other = await startTestServer({
    settings: {
      BILLING_PROCESSOR: 'stripe',
      STRIPE_SECRET_KEY: 'sk_test_123',
      STRIPE_PUBLISHABLE_KEY: 'pk_test_123',
      STRIPE_WEBHOOK_SECRET: 'whsec_123',
    },
  })
  try {
    const { payments, paymentSandbox } = other.application
    expect([payments.name, payments.publishableKey, paymentSandbox]).toEqual(['stripe', 'pk_test_123', null])
    expect((await fetch(`${other.url}/sandbox/billing/checkout/x`)).status).toBe(404)
  } finally {
    await other.close()
  }
})
