import { afterAll, beforeAll, expect, test } from 'vitest'
import { readRoutes } from '../src/api/read-routes.ts'
import { writeRoutes } from '../src/api/write-routes.ts'
import { publishPrices, returnUrl, startTestSandbox } from './support.ts'
import type { TestSandbox } from './support.ts'

let world: TestSandbox
let customerId: string
beforeAll(async () => {
  world = await startTestSandbox()
  await publishPrices(world)
  customerId = await world.createCustomer()
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
  return world.sandbox.fetch(`http://sandbox${path}`, {
    method,
    headers: {
      authorization: `Bearer ${world.sandbox.apiKey}`,
      'content-type': 'application/x-www-form-urlencoded',
      ...headers,
    },
    ...(body === undefined ? {} : { body }),
  })
}

test('the API answers any form below 500, and with an error that the SDK understands', async () => {
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

test('the API answers any query below 500', async () => {
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

test('requests without the key, or with a wrong key, body, method or idempotency key, are refused', async () => {
  const wrongKey = { authorization: 'Bearer sk_test_other' }
  expect((await send('GET', '/v1/customers/x', undefined, wrongKey)).status).toBe(401)
  expect((await send('GET', '/v1/customers/x', undefined, { authorization: '' })).status).toBe(401)
  expect((await send('POST', '/v1/customers', '{}', { 'content-type': 'application/json' })).status).toBe(415)
  expect((await send('POST', '/v1/customers', 'x'.repeat(2_000_000))).status).toBe(413)
  expect((await send('PUT', '/v1/customers', 'name=x')).status).toBe(404)
  const longKey = { 'idempotency-key': 'k'.repeat(300) }
  expect((await send('POST', '/v1/customers', '', longKey)).status).toBe(400)
})

test('pages answer any form below 500', async () => {
  const { client_secret: secret } = await world.stripe.checkout.sessions.create({
    mode: 'setup',
    ui_mode: 'embedded_page',
    customer: customerId,
    currency: 'usd',
    return_url: returnUrl,
  })
  const paths = [`/sandbox/billing/checkout/${secret}`, `/sandbox/billing/checkout/%00`]
  const card = 'number=4242424242424242&expiry=12%2F40&cvc=123'
  for (const path of paths) {
    for (const body of [
      ...forms,
      `${card}&name=%00`,
      `${card}&name=a%00b`,
      'answer=maybe',
      'answer=yes&answer=no',
      'card=pm_unknown&answer=yes',
      'card=%00',
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
  const { data } = await world.stripe.customers.listPaymentMethods(customerId)
  expect(data).toHaveLength(1)
})
