import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { publishSandboxPrices } from '../../../src/features/billing/processor/publish-prices.ts'
import { activate } from '../../support/billing.ts'
import { createClient, registerClient } from '../../support/client.ts'
import type { Client } from '../../support/client.ts'
import { createCast } from '../../support/organizations.ts'
import { startTestServer } from '../../support/server.ts'
import type { TestServer } from '../../support/server.ts'

const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ worker: false, settings: { BILLING_TRIAL_MAX_ACTIVE: '' } })
  await publishSandboxPrices(server.application)
})
afterAll(() => server.close())

test('GET /v1/billing/config: the publishable key and the billing features', async () => {
  const client = await registerClient(server.url)
  expect(await client.get('/v1/billing/config')).toMatchObject({
    status: 200,
    body: {
      deployment_limits: { trial: expect.any(Number), postpaid: expect.any(Number) },
      publishable_key: 'pk_test_sandbox',
      features: { processor: 'sandbox', postpaid: true, send_invoice: true, portal: true, trial: true },
    },
  })
})

/** The period of the usage summary. */
async function readPeriod(client: Client) {
  const { period_start, period_end } = (await client.get('/v1/billing/usage-summary')).body
  return { current_period_start: period_start, current_period_end: period_end }
}

describe('GET /v1/billing/account', () => {
  test('a new organization is on trial; every field is present, null where it does not apply', async () => {
    const client = await registerClient(server.url)
    const { body: organization } = await client.get('/v1/organization')
    const answer = await client.get('/v1/billing/account')
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      id: expect.any(Number),
      organization_id: organization.id,
      account_type: 'organization',
      currency: 'usd',
      billing_mode: 'trial',
      status: 'active',
      processor_customer_id: null,
      processor_subscription_id: null,
      subscription_status: 'none',
      collection_method: 'charge_automatically',
      ...(await readPeriod(client)),
      auto_charge_enabled_at: null,
      auto_charge_enabled_by_user_id: null,
      max_active_resources: 10,
      active_resources: 0,
      trial_credit: { granted: '10', used: '0', remaining: '10' },
      created_at: expect.stringMatching(iso),
      updated_at: expect.stringMatching(iso),
    })
    expect((await client.get('/v1/billing/account')).body).toEqual(answer.body)
  })

  test('many concurrent first requests create one account', async () => {
    const client = await registerClient(server.url)
    const answers = await Promise.all(Array.from({ length: 20 }, () => client.get('/v1/billing/account')))
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1)
  })

  test('with a subscription: postpaid, its period and the user who enabled automatic charging', async () => {
    const client = await registerClient(server.url)
    const { body: session } = await client.get('/v1/auth/session')
    await activate(server.url, client)
    const { body } = await client.get('/v1/billing/account')
    expect(body).toMatchObject({
      billing_mode: 'postpaid',
      trial_credit: null,
      status: 'active',
      processor_customer_id: expect.stringMatching(/^cus_/),
      processor_subscription_id: expect.stringMatching(/^sub_/),
      subscription_status: 'active',
      collection_method: 'charge_automatically',
      current_period_start: expect.stringMatching(iso),
      current_period_end: expect.stringMatching(iso),
      auto_charge_enabled_at: expect.stringMatching(iso),
      auto_charge_enabled_by_user_id: session.user.id,
      max_active_resources: 20,
    })
  })
})

describe('GET /v1/billing/subscription', () => {
  test('without a subscription: status none, and the terms of the first one', async () => {
    const client = await registerClient(server.url)
    const { body: account } = await client.get('/v1/billing/account')
    expect((await client.get('/v1/billing/subscription')).body).toEqual({
      billing_account_id: account.id,
      subscription_status: 'none',
      collection_method: 'charge_automatically',
      ...(await readPeriod(client)),
    })
  })

  test('with a subscription: the same body as the activation', async () => {
    const client = await registerClient(server.url)
    const activated = await activate(server.url, client)
    expect((await client.get('/v1/billing/subscription')).body).toEqual(activated.body)
  })
})

describe('GET /v1/billing/usage-summary', () => {
  test('on trial: the UTC calendar month, without rows as long as there is no usage', async () => {
    const client = await registerClient(server.url)
    const { body: organization } = await client.get('/v1/organization')
    const now = new Date()
    const month = (ahead: number) =>
      new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead)).toISOString()
    expect((await client.get('/v1/billing/usage-summary')).body).toEqual({
      organization_id: organization.id,
      period_start: month(0),
      period_end: month(1),
      currency: 'usd',
      usage_totals: [],
      max_active_resources: 10,
      active_resources: 0,
      active_deployments: 0,
      running_deployments: 0,
      price_per_hour: '0',
      open_anomalies: 0,
    })
  })
})

describe('permissions', () => {
  const body = {
    'POST /v1/billing/subscription/activate-postpaid': { processor_payment_method_id: 'pm_x' },
    'PATCH /v1/billing/subscription/collection-method': { collection_method: 'send_invoice' },
    'PATCH /v1/billing/payment-methods/default': { processor_default_payment_method_id: 'pm_x' },
    'POST /v1/billing/portal/session': {},
    'POST /v1/billing/checkout/setup-session': {},
  } as Record<string, unknown>
  const forEveryone = ['GET /v1/billing/config', 'GET /v1/billing/usage-summary']
  const forAdmins = [
    'GET /v1/billing/account',
    'GET /v1/billing/subscription',
    'GET /v1/billing/payment-methods',
    'DELETE /v1/billing/payment-methods/pm_x',
    'GET /v1/billing/invoices',
    ...Object.keys(body),
  ]
  let cast: Awaited<ReturnType<typeof createCast>>
  beforeAll(async () => {
    cast = await createCast(server)
  })

  const ask = (client: ReturnType<typeof createClient>, route: string) => {
    const [method = '', path = ''] = route.split(' ')
    return client.request(method, path, body[route])
  }

  test.each(forEveryone)('%s: every role', async (route) => {
    const { viewer, member, admin, superAdmin } = cast
    for (const client of [viewer, member, admin, superAdmin])
      expect((await ask(client, route)).status).toBe(200)
    expect((await ask(createClient(server.url), route)).status).toBe(401)
  })

  test.each(forAdmins)('%s: admin and super_admin', async (route) => {
    const { viewer, member, admin, superAdmin } = cast
    for (const client of [viewer, member]) {
      expect(await ask(client, route)).toMatchObject({ status: 403, body: { code: 'forbidden' } })
    }
    for (const client of [admin, superAdmin])
      expect([200, 404, 409]).toContain((await ask(client, route)).status)
    expect((await ask(createClient(server.url), route)).status).toBe(401)
  })
})
