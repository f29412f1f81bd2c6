import { Stripe } from 'stripe'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { callEverything } from './stripe-calls.ts'
import { connect, returnUrl, startTestProcessor } from './stripe-support.ts'
import type { TestProcessor } from './stripe-support.ts'
import { generateRequestSchemas, operationNames } from './stripe-request-schemas.ts'
import type { RecordedCall, RequestSchemas } from './stripe-request-schemas.ts'

let world: TestProcessor
let schemas: RequestSchemas
const calls: RecordedCall[] = []

/** A `fetch` that records each request to Stripe and sends it to the sandbox. */
async function record(address: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  const { pathname, search } = new URL(address instanceof Request ? address.url : address)
  const headers = new Headers(init.headers)
  calls.push({
    method: init.method ?? 'GET',
    path: pathname + search,
    body: typeof init.body === 'string' ? init.body : '',
    idempotencyKey: headers.get('idempotency-key'),
  })
  return world.sandbox.fetch(address, init)
}

beforeAll(async () => {
  world = await startTestProcessor()
  schemas = await generateRequestSchemas()
}, 60_000)
afterAll(() => world.close())

test('every request to Stripe matches the SDK’s types', async () => {
  const payments = connect(world, { transport: record })
  await callEverything(world, payments)
  const made = new Set(calls.map((call) => schemas.nameOf(call)))
  expect([...made].toSorted()).toEqual(operationNames.toSorted())
  const problems = calls.flatMap((call) =>
    schemas.problemsOf(call).map((problem) => `${schemas.nameOf(call)}: ${problem}`),
  )
  expect(problems).toEqual([])
})

test('requests that must not be repeated have an idempotency key that is the same after a crash', () => {
  const keyOf = (name: string) => calls.find((call) => schemas.nameOf(call) === name)?.idempotencyKey
  expect(keyOf('POST /v1/customers')).toBe('test-org-1-customer')
  expect(keyOf('POST /v1/subscriptions')).toBe('test-key')
})

test.each<[string, Record<string, unknown>]>([
  ['a removed value: ui_mode embedded', { ui_mode: 'embedded' }],
  ['a removed parameter: payment_method_types', { ui_mode: 'embedded_page', payment_method_types: ['card'] }],
  ['an invalid number', { ui_mode: 'embedded_page', expires_at: 'tomorrow' }],
])('the schemas and the sandbox reject %s', async (_what, parameters) => {
  const stripe = new Stripe(world.sandbox.apiKey, {
    httpClient: Stripe.createFetchHttpClient(record),
    maxNetworkRetries: 0,
  })
  const customer = await world.payments.createCustomer({
    organizationId: 2,
    email: 'b@example.com',
    name: 'B',
  })
  const call = stripe.checkout.sessions.create({
    mode: 'setup',
    currency: 'usd',
    customer,
    return_url: returnUrl,
    ...parameters,
  })
  await expect(call).rejects.toBeInstanceOf(Stripe.errors.StripeInvalidRequestError)
  const last = calls.at(-1)
  expect(last === undefined ? [] : schemas.problemsOf(last)).not.toEqual([])
})
