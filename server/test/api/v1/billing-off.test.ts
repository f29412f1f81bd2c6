import { afterAll, beforeAll, expect, test } from 'vitest'
import { endTrials } from '../../../src/features/deployments/changes/end-trials.ts'
import { activate, saveCard } from '../../support/billing.ts'
import { createClient, registerClient } from '../../support/client.ts'
import type { Client } from '../../support/client.ts'
import { createTestClock, hour } from '../../support/clock.ts'
import { deploy } from '../../support/deployments.ts'
import { registerProven } from '../../support/organizations.ts'
import { createScriptedRuntime } from '../../support/scripted-runtime.ts'
import { startTestServer } from '../../support/server.ts'
import type { TestServer } from '../../support/server.ts'

const path = '/api/v1/model-deployments'
const clock = createTestClock()
const shared = {
  SECRET_KEY: 'the key of both servers of this test',
  BILLING_TRIAL_CREDIT: '0.05',
  BILLING_TRIAL_GRACE: '0s',
  BILLING_TRIAL_MAX_ACTIVE: '1',
}

/** Two servers on one database, so that a test switches billing by asking the other one. */
let off: TestServer
let on: TestServer
beforeAll(async () => {
  const runtime = createScriptedRuntime('http://127.0.0.1:9', clock.now)
  off = await startTestServer({ settings: { ...shared, BILLING: 'off' }, clock: clock.now, runtime })
  const DATABASE_URL = off.application.config.databaseUrl!
  on = await startTestServer({ settings: { ...shared, DATABASE_URL }, clock: clock.now, worker: false })
})
afterAll(async () => {
  await on.close()
  await off.close()
})

function at(server: TestServer, client: Client): Client {
  const other = createClient(server.url)
  other.setCookie(client.cookie())
  return other
}

test('GET /v1/billing/account, /config and /v1/installation say that billing is off', async () => {
  const client = await registerClient(off.url)
  expect((await client.get('/v1/billing/account')).body).toMatchObject({
    billing_mode: 'off',
    trial_credit: null,
    max_active_resources: 1_000_000,
  })
  const { features } = (await client.get('/v1/billing/config')).body
  expect(features).toEqual({
    processor: 'sandbox',
    postpaid: false,
    send_invoice: false,
    portal: false,
    trial: false,
  })
  expect((await client.get('/v1/installation')).body.billing).toBe(false)
  expect((await createClient(on.url).get('/v1/installation')).body.billing).toBe(true)
  for (const list of ['payment-methods', 'invoices']) {
    expect((await client.get(`/v1/billing/${list}`)).body).toEqual([])
  }
})

test('activation and cards are a 409 billing_off', async () => {
  const client = await registerClient(off.url)
  for (const [method, route, body] of [
    ['POST', 'subscription/activate-postpaid', { processor_payment_method_id: 'pm_1' }],
    ['PATCH', 'subscription/collection-method', { collection_method: 'send_invoice' }],
    ['PATCH', 'payment-methods/default', { processor_default_payment_method_id: 'pm_1' }],
    ['DELETE', 'payment-methods/pm_1', undefined],
    ['POST', 'portal/session', {}],
    ['POST', 'checkout/setup-session', {}],
  ] as const) {
    const { status, body: refusal } = await client.request(method, `/v1/billing/${route}`, body)
    expect([route, status, refusal.code]).toEqual([route, 409, 'billing_off'])
  }
})

test('neither a trial’s credit nor its limit ends or refuses deployments; budgets do', async () => {
  const client = await registerProven(off)
  const { id } = await deploy(client)
  await deploy(client)
  clock.advance(3 * hour)
  await endTrials(off.application)
  expect((await client.get(`${path}/${id}`)).body.status).toBe('running')
  expect((await client.post(path, { model_name: 'berth-tiny' })).status).toBe(201)
  const { body: usage } = await client.get('/v1/billing/usage-summary')
  expect(usage.max_active_resources).toBe(1_000_000)
  expect(Number(usage.usage_totals[0].estimated_amount)).toBeGreaterThan(0.05)

  // With billing on, the same organization is past its trial, and nothing is lost.
  const paying = at(on, client)
  const refused = await paying.post(path, { model_name: 'berth-tiny' })
  expect([refused.status, refused.body.code]).toEqual([409, 'resource_limit_reached'])
  expect((await paying.get('/v1/billing/account')).body).toMatchObject({
    billing_mode: 'trial',
    max_active_resources: 1,
    trial_credit: { remaining: '0' },
  })

  const budget = { scope: 'organization', monthly_limit: '0.01', at_limit: 'block' }
  expect((await client.post('/v1/billing/budgets', budget)).status).toBe(200)
  const blocked = await client.post(path, { model_name: 'berth-tiny' })
  expect([blocked.status, blocked.body.code]).toEqual([409, 'budget_exhausted'])
})

test('who paid before pays again when billing is on again', async () => {
  const client = await registerClient(on.url)
  await activate(on.url, client)
  const without = at(off, client)
  expect((await without.get('/v1/billing/account')).body.billing_mode).toBe('off')
  const answer = await without.post('/v1/billing/portal/session', {})
  expect(answer.body.code).toBe('billing_off')
  expect((await client.get('/v1/billing/account')).body).toMatchObject({
    billing_mode: 'postpaid',
    subscription_status: 'active',
  })
  expect(await saveCard(on.url, client)).toBeDefined()
})
