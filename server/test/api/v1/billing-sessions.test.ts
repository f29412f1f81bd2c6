import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cardNumbers, checkoutPath, enterCard } from '../../support/billing.ts'
import { createClient, registerClient } from '../../support/client.ts'
import type { Client } from '../../support/client.ts'
import { listSandboxObjects } from '../../support/sandbox.ts'
import { startTestServer } from '../../support/server.ts'
import type { TestServer } from '../../support/server.ts'

const setupPath = '/v1/billing/checkout/setup-session'
const portalPath = '/v1/billing/portal/session'
const publicUrl = 'https://berth.example.com'

let server: TestServer
let client: Client
beforeAll(async () => {
  server = await startTestServer({
    worker: false,
    settings: { PUBLIC_URL: publicUrl, SESSION_COOKIE_SECURE: 'false' },
  })
  client = await registerClient(server.url)
})
afterAll(() => server.close())

describe('POST /v1/billing/checkout/setup-session', () => {
  test('returns a checkout session for saving a card', async () => {
    const { status, body } = await client.post(setupPath, {})
    expect(status).toBe(200)
    expect(body).toEqual({
      checkout_session_id: expect.stringMatching(/^cs_/),
      client_secret: expect.stringMatching(/./),
      mode: 'setup',
      status: 'open',
      payment_status: 'no_payment_required',
      expires_at: expect.stringMatching(/Z$/),
    })
    const hours = (Date.parse(body.expires_at) - Date.now()) / 3_600_000
    expect(hours).toBeGreaterThan(0.4)
    expect(hours).toBeLessThanOrEqual(24)
  })

  test('accepts both purposes and rejects others', async () => {
    for (const purpose of ['payment_method_setup', 'postpaid_activation']) {
      expect((await client.post(setupPath, { purpose })).status).toBe(200)
    }
    for (const purpose of ['', 'payment', 1]) {
      expect((await client.post(setupPath, { purpose })).body.code).toBe('validation_failed')
    }
  })

  test('without a body, or with null, its fields count as not given', async () => {
    for (const path of [setupPath, portalPath]) {
      expect((await client.post(path)).status, path).toBe(200)
      expect((await client.request('POST', path, '', { 'content-type': 'application/json' })).status).toBe(
        200,
      )
      expect((await client.post(path, { return_url: null, purpose: null })).status, path).toBe(200)
      expect((await client.post(path, 'null')).status, path).toBe(422)
    }
  })

  test('after saving a card, redirects to return_url or to the console’s billing page', async () => {
    const given = `${publicUrl}/billing?from=setup&session={CHECKOUT_SESSION_ID}`
    const { body } = await client.post(setupPath, { return_url: given })
    const answer = await enterCard(server.url, checkoutPath(body), cardNumbers.works)
    expect(answer.headers.get('location')).toBe(
      given.replace('{CHECKOUT_SESSION_ID}', body.checkout_session_id),
    )
    const { body: other } = await client.post(setupPath, {})
    const back = await enterCard(server.url, checkoutPath(other), cardNumbers.worksToo)
    expect(back.headers.get('location')).toMatch(/^https:\/\/berth\.example\.com\/billing\?/)
    expect((await client.get('/v1/billing/payment-methods')).body).toHaveLength(2)
  })

  test('a declined card is not saved', async () => {
    const own = await registerClient(server.url)
    const { body } = await own.post(setupPath, {})
    expect((await enterCard(server.url, checkoutPath(body), cardNumbers.isDeclined)).status).toBe(422)
    expect((await own.get('/v1/billing/payment-methods')).body).toEqual([])
  })

  test('a card that needs authentication is saved after its owner consents', async () => {
    const own = await registerClient(server.url)
    const { body } = await own.post(setupPath, {})
    expect((await enterCard(server.url, checkoutPath(body), cardNumbers.asksOnce)).status).toBe(303)
    expect((await own.get('/v1/billing/payment-methods')).body).toHaveLength(1)
  })

  test('concurrent requests create one customer at the processor', async () => {
    const own = await registerClient(server.url)
    const answers = await Promise.all(Array.from({ length: 10 }, () => own.post(setupPath, {})))
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    const { body: account } = await own.get('/v1/billing/account')
    const customers = await listSandboxObjects(server.application, 'customer')
    const id = String(account.organization_id)
    expect(customers.filter(({ metadata }) => metadata.organization_id === id)).toHaveLength(1)
  })
})

describe('POST /v1/billing/portal/session', () => {
  test('returns the URL of a page for cards and invoices', async () => {
    const { status, body } = await client.post(portalPath, { return_url: `${publicUrl}/billing` })
    expect(status).toBe(200)
    expect(Object.keys(body)).toEqual(['url'])
    expect(body.url.startsWith(`${publicUrl}/sandbox/billing/portal/`)).toBe(true)
    const page = await createClient(server.url).get(new URL(body.url).pathname)
    expect(page.status).toBe(200)
    expect(page.body).toContain('4242')
  })

  test('works for an organization without a card', async () => {
    expect((await (await registerClient(server.url)).post(portalPath, {})).status).toBe(200)
  })
})

const wrongUrls = [
  'ftp://berth.example.com/',
  '//berth.example.com/billing',
  '/billing',
  'javascript:alert(1)',
  'https://',
  '',
  'x'.repeat(3000),
  'https://berth.example.com/\0',
]
test.each([setupPath, portalPath])(
  'POST %s: a return_url that is no http or https address is a 422',
  async (path) => {
    for (const address of wrongUrls) {
      const answer = await client.post(path, { return_url: address })
      expect(answer.status, address).toBe(422)
      expect(answer.body).toMatchObject({
        code: 'validation_failed',
        errors: [{ location: 'body', field: 'return_url' }],
      })
    }
  },
)

test.each([setupPath, portalPath])('POST %s: invalid bodies', async (path) => {
  expect((await client.request('POST', path, '{')).status).toBe(400)
  expect((await client.request('POST', path, '{}', { 'content-type': 'text/plain' })).status).toBe(415)
  expect((await client.post(path, [])).status).toBe(422)
})
