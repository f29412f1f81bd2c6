import { afterAll, beforeAll, expect, test } from 'vitest'
import { readRoutes } from '../../src/adapters/payment-processor/sandbox/read-routes.ts'
import { writeRoutes } from '../../src/adapters/payment-processor/sandbox/write-routes.ts'
import { prices, returnUrl, startTestSandbox } from './payment-sandbox-support.ts'
import type { TestSandbox } from './payment-sandbox-support.ts'

let world: TestSandbox
let customerId: string
beforeAll(async () => {
  world = await startTestSandbox()
  await world.payments.publishPrices(prices)
  customerId = await world.payments.createCustomer({
    organizationId: 1,
    email: 'a@example.com',
    name: 'Acme',
  })
})
afterAll(() => world.close())

const deep = `metadata${'[a]'.repeat(200)}=1`
const forms = [
  '',
  '=',
  '&&&',
  '%',
  '%zz=%zz',
  'a=%00',
  'customer=%00',
  'name=%00&product=%00',
  '__proto__[polluted]=1',
  'constructor[prototype][polluted]=1',
  'customer[toString]=1&items[toString]=1',
  'metadata[__proto__]=x',
  'metadata[]=1',
  'items=&card=&customer=',
  'items[0]=x&items[1][price]=y',
  'items[999999][price]=x',
  'unit_amount=-1&amount=1e9&timestamp=99999999999999999999&limit=0',
  `name=${'x'.repeat(100_000)}`,
  Array.from({ length: 5000 }, (_, index) => `k${index}=v`).join('&'),
  deep,
  'name=\u{1F600}&email=%F0%9F%98%80',
  'payment_method=pm_card_visa&invoice_settings[default_payment_method]=cus_1',
  'expand[]=data.customer',
]

function send(method: string, path: string, body?: string, headers: Record<string, string> = {}) {
  return fetch(world.url + path, {
    method,
    headers: {
      authorization: `Bearer ${world.sandbox.apiKey}`,
      'content-type': 'application/x-www-form-urlencoded',
      ...headers,
    },
    ...(body === undefined ? {} : { body }),
  })
}

test('no form makes the API fail, and every refusal is one that the SDK understands', async () => {
  for (const { method, path } of writeRoutes) {
    for (const id of ['x', customerId, '%00', 'y'.repeat(3000)]) {
      if (id !== 'x' && !path.includes(':id')) continue
      for (const form of id === 'x' ? forms : forms.slice(0, 3)) {
        const answer = await send(method, path.replace(':id', id), form)
        const body = (await answer.json()) as { error?: { type?: string; message?: string }; object?: string }
        expect(answer.status, `${method} ${path} ${id.slice(0, 20)} ${form.slice(0, 40)}`).toBeLessThan(500)
        if (answer.status !== 200)
          expect(body.error).toMatchObject({ type: expect.any(String), message: expect.any(String) })
      }
    }
  }
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
}, 60_000)

test('no query makes the API fail', async () => {
  for (const { path } of readRoutes) {
    for (const query of [
      'limit=0',
      'limit=x',
      'starting_after=%00',
      'starting_after=x',
      'created[gte]=x',
      'a[b][c]=1',
      'type[]=1',
      '%',
    ]) {
      const answer = await send('GET', `${path.replace(':id', 'x').replace(':child', 'y')}?${query}`)
      expect(answer.status, `${path}?${query}`).toBeLessThan(500)
    }
  }
})

test('without the key, with another, and with another body there is no answer', async () => {
  expect(
    (await send('GET', '/v1/customers', undefined, { authorization: 'Bearer sk_test_other' })).status,
  ).toBe(401)
  expect((await send('GET', '/v1/customers', undefined, { authorization: '' })).status).toBe(401)
  expect((await send('POST', '/v1/customers', '{}', { 'content-type': 'application/json' })).status).toBe(415)
  expect((await send('POST', '/v1/customers', 'x'.repeat(2_000_000))).status).toBe(413)
  expect((await send('PUT', '/v1/customers', 'name=x')).status).toBe(404)
  expect((await send('POST', '/v1/customers', 'name=x', { 'idempotency-key': 'k'.repeat(300) })).status).toBe(
    400,
  )
})

test('no form makes a page fail', async () => {
  const session = await world.payments.createSetupSession({
    customerId,
    organizationId: 1,
    currency: 'usd',
    purpose: 'payment_method_setup',
    returnUrl,
  })
  const portal = new URL(await world.payments.createPortalSession(customerId, 'http://localhost:8080/'))
    .pathname
  const paths = [
    `/sandbox/billing/checkout/${session.clientSecret}`,
    `/sandbox/billing/checkout/${session.clientSecret}/consent`,
    `${portal}/cards/%00/default`,
    `${portal}/cards/${'x'.repeat(90)}/remove`,
  ]
  const card = 'number=4242424242424242&expiry=12%2F40&cvc=123'
  for (const path of paths) {
    for (const body of [
      ...forms,
      `${card}&name=%00`,
      `${card}&name=a%00b`,
      'answer=maybe',
      'answer=yes&answer=no',
    ]) {
      const answer = await fetch(world.pagesUrl + path, {
        method: 'POST',
        redirect: 'manual',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body,
      })
      expect(answer.status, `${path.slice(0, 40)} ${body.slice(0, 60)}`).toBeLessThan(500)
    }
  }
  expect(await world.payments.listCards(customerId)).toHaveLength(1)
})
