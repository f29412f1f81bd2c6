import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { getObject } from '../../../../../payment-sandbox/src/objects.ts'
import { syncAccount } from '../../../../src/features/billing/processor/sync-account.ts'
import {
  checkPrices,
  publishSandboxPrices,
} from '../../../../src/features/billing/processor/publish-prices.ts'
import { activate, cardNumbers, saveCard } from '../../../support/billing.ts'
import { registerClient } from '../../../support/client.ts'
import type { Client } from '../../../support/client.ts'
import { startKubernetesApi } from '../../../kubernetes/api-double.ts'
import { readManifests } from '../../../support/manifests.ts'
import { callSandbox, listSandboxObjects, openSandboxTables } from '../../../support/sandbox.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const activatePath = '/v1/billing/subscription/activate-postpaid'
const methodPath = '/v1/billing/subscription/collection-method'
const activateWith = (client: Client, id: string) =>
  client.post(activatePath, { processor_payment_method_id: id })
const setMethod = (client: Client, method: string) => client.patch(methodPath, { collection_method: method })

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ worker: false })
  await publishSandboxPrices(server.application)
})
afterAll(() => server.close())

async function listSubscriptions(client: Client): Promise<any[]> {
  const { body: account } = await client.get('/v1/billing/account')
  return listSandboxObjects(server.application, 'subscription', account.processor_customer_id)
}

describe('POST /v1/billing/subscription/activate-postpaid', () => {
  test('returns the subscription', async () => {
    const client = await registerClient(server.url)
    const { status, body } = await activate(server.url, client)
    const { body: account } = await client.get('/v1/billing/account')
    expect(status).toBe(200)
    expect(body).toEqual({
      billing_account_id: account.id,
      subscription_status: 'active',
      collection_method: 'charge_automatically',
      current_period_start: account.current_period_start,
      current_period_end: account.current_period_end,
    })
    const days = (Date.parse(body.current_period_end) - Date.parse(body.current_period_start)) / 86_400_000
    expect(days).toBeGreaterThanOrEqual(28)
    expect(days).toBeLessThanOrEqual(31)
  })

  test('the card becomes the default', async () => {
    const client = await registerClient(server.url)
    await saveCard(server.url, client)
    const other = await saveCard(server.url, client, cardNumbers.worksToo)
    await activateWith(client, other.id)
    const { body: cards } = await client.get('/v1/billing/payment-methods')
    expect(cards.filter((card: any) => card.is_default)).toEqual([{ ...other, is_default: true }])
  })

  test('ten concurrent requests and a later one: one subscription, the same response', async () => {
    const client = await registerClient(server.url)
    const card = await saveCard(server.url, client)
    const answers = await Promise.all(Array.from({ length: 10 }, () => activateWith(client, card.id)))
    answers.push(await activateWith(client, card.id))
    for (const answer of answers) expect(answer).toMatchObject({ status: 200, body: answers[0]!.body })
    expect(await listSubscriptions(client)).toHaveLength(1)
  })

  test('concurrent requests with different cards create one subscription', async () => {
    const client = await registerClient(server.url)
    const cards = [
      await saveCard(server.url, client),
      await saveCard(server.url, client, cardNumbers.worksToo),
    ]
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, index) => activateWith(client, cards[index % 2].id)),
    )
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    expect(await listSubscriptions(client)).toHaveLength(1)
  })

  test('a card that needs authentication for every payment: 409 authentication_required; another card works', async () => {
    const client = await registerClient(server.url)
    const asking = await saveCard(server.url, client, cardNumbers.asksAlways)
    const refused = await activateWith(client, asking.id)
    expect(refused).toMatchObject({ status: 409, body: { code: 'authentication_required' } })
    expect(refused.body.detail).toMatch(/\w+.*[.!]$/)
    expect((await client.get('/v1/billing/account')).body).toMatchObject({
      billing_mode: 'trial',
      subscription_status: 'none',
    })
    const card = await saveCard(server.url, client)
    expect((await activateWith(client, card.id)).status).toBe(200)
    expect(await listSubscriptions(client)).toHaveLength(1)
  })

  test('an expired card: 409 card_declined', async () => {
    const client = await registerClient(server.url)
    const card = await saveCard(server.url, client)
    await expireCard(card.id)
    expect(await activateWith(client, card.id)).toMatchObject({
      status: 409,
      body: { code: 'card_declined' },
    })
  })

  test('an unknown card and another organization’s card: 404', async () => {
    const client = await registerClient(server.url)
    await saveCard(server.url, client)
    const foreign = await saveCard(server.url, await registerClient(server.url))
    for (const id of [foreign.id, 'pm_unknown', 'pm_card_visa/..', 'x y']) {
      expect(await activateWith(client, id), id).toMatchObject({ status: 404, body: { code: 'not_found' } })
    }
    expect((await activateWith(await registerClient(server.url), foreign.id)).status).toBe(404)
    expect(await listSubscriptions(client)).toEqual([])
  })

  test.each(['suspended', 'closed'] as const)('a %s account: 409 account_suspended', async (status) => {
    const client = await registerClient(server.url)
    const card = await saveCard(server.url, client)
    const { body: account } = await client.get('/v1/billing/account')
    const accounts = server.application.db.updateTable('billing_accounts')
    await accounts.set({ status }).where('id', '=', account.id).execute()
    expect((await activateWith(client, card.id)).body.code).toBe('account_suspended')
  })

  test('invalid bodies: 400 and 422', async () => {
    const client = await registerClient(server.url)
    expect((await client.request('POST', activatePath, '{')).status).toBe(400)
    for (const body of [{}, { processor_payment_method_id: null }, { processor_payment_method_id: ' ' }]) {
      expect((await client.post(activatePath, body)).body.code).toBe('validation_failed')
    }
  })

  test('billing can be activated again after the subscription was canceled', async () => {
    const client = await registerClient(server.url)
    await activate(server.url, client)
    const { body: before } = await client.get('/v1/billing/account')
    const [subscription] = await listSubscriptions(client)
    await callSandbox(server.application, 'DELETE', `/v1/subscriptions/${subscription.id}`)
    const {
      body: [card],
    } = await client.get('/v1/billing/payment-methods')
    expect((await activateWith(client, card.id)).status).toBe(200)
    const { body: after } = await client.get('/v1/billing/account')
    expect(after.processor_subscription_id).not.toBe(before.processor_subscription_id)
    expect(await listSubscriptions(client)).toHaveLength(2)
  })
})

async function expireCard(cardId: string): Promise<void> {
  const tables = openSandboxTables(server.application)
  const card = await getObject(tables, 'payment_method', cardId)
  const expired = { ...card, card: { ...card.card, exp_year: 2020 } }
  await tables
    .updateTable('objects')
    .set({ data: JSON.stringify(expired) })
    .where('id', '=', cardId)
    .execute()
}

test('with the bundled Kubernetes settings, billing can be activated and new deployments have a price', async () => {
  const api = await startKubernetesApi()
  const { DATA_DIR: _, ...shipped } = readManifests().find(({ kind }) => kind === 'ConfigMap').data
  const settings = { ...shipped, PORT: '0', KUBECONFIG: api.kubeconfig, BILLING_TRIAL_MAX_ACTIVE: '1000' }
  const cluster = await startTestServer({ worker: false, settings })
  try {
    const { application, url, logs } = cluster
    const { payments } = application
    await publishSandboxPrices(application)
    await checkPrices(application)
    expect(logs.join('')).toContain('KUBERNETES_INSTANCE_TYPES')
    const client = await registerClient(url)
    expect(await activate(url, client)).toMatchObject({
      status: 200,
      body: { subscription_status: 'active' },
    })
    const { body } = await client.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })
    const placed = { instance_type: 'l4-x2', region: 'default' }
    await application.db.updateTable('instances').set(placed).where('deployment_id', '=', body.id).execute()
    await publishSandboxPrices(application)
    const l4x2 = expect.stringMatching(/^gpu_instance_seconds\.l4-x2\.default\./)
    expect(await payments.listPublishedKeys()).toContainEqual(l4x2)
    const { data } = await callSandbox(application, 'GET', '/v1/subscriptions')
    expect(data[0].items.data.map(({ price }: any) => price.lookup_key)).toContainEqual(l4x2)
    // For Stripe, an operator publishes the other prices.
    await checkPrices({ ...application, payments: { ...payments, name: 'stripe' } })
    const { msg, prices } = JSON.parse(logs.at(-1) ?? '')
    expect(msg).toContain('npm run stripe:setup')
    expect(prices).toContainEqual(expect.stringMatching(/^gpu_instance_seconds\.l4-x1\.default\./))
    expect(prices).not.toContainEqual(l4x2)
  } finally {
    await cluster.close()
    await api.close()
  }
})

describe('PATCH /v1/billing/subscription/collection-method', () => {
  test('to send_invoice and back; the account has the user who enabled automatic charging', async () => {
    const client = await registerClient(server.url)
    const { body: activated } = await activate(server.url, client)
    expect(await setMethod(client, 'send_invoice')).toMatchObject({
      status: 200,
      body: { ...activated, collection_method: 'send_invoice' },
    })
    expect((await client.get('/v1/billing/account')).body).toMatchObject({
      collection_method: 'send_invoice',
      auto_charge_enabled_at: null,
      auto_charge_enabled_by_user_id: null,
    })
    expect((await setMethod(client, 'charge_automatically')).body).toEqual(activated)
    const { body: session } = await client.get('/v1/auth/session')
    expect((await client.get('/v1/billing/account')).body).toMatchObject({
      auto_charge_enabled_at: expect.any(String),
      auto_charge_enabled_by_user_id: session.user.id,
    })
  })

  test('a change at the processor that was not stored is stored by the next request or event', async () => {
    const client = await registerClient(server.url)
    await activate(server.url, client)
    const { body: account } = await client.get('/v1/billing/account')
    const subscription = account.processor_subscription_id
    const { payments } = server.application
    await payments.setCollectionMethod(subscription, 'send_invoice', null)
    expect((await setMethod(client, 'send_invoice')).status).toBe(200)
    expect((await client.get('/v1/billing/account')).body).toMatchObject({
      collection_method: 'send_invoice',
      auto_charge_enabled_at: null,
      auto_charge_enabled_by_user_id: null,
    })
    const { body: cards } = await client.get('/v1/billing/payment-methods')
    await payments.setCollectionMethod(subscription, 'charge_automatically', cards[0].id)
    await syncAccount(server.application, account.id)
    expect((await client.get('/v1/billing/account')).body).toMatchObject({
      collection_method: 'charge_automatically',
      auto_charge_enabled_at: expect.any(String),
      auto_charge_enabled_by_user_id: null,
    })
    expect((await setMethod(client, 'charge_automatically')).status).toBe(200)
    expect((await client.get('/v1/billing/account')).body).toMatchObject({
      auto_charge_enabled_by_user_id: account.auto_charge_enabled_by_user_id,
    })
  })

  test('setting the current method changes nothing', async () => {
    const client = await registerClient(server.url)
    await activate(server.url, client)
    const { body: before } = await client.get('/v1/billing/account')
    expect((await setMethod(client, 'charge_automatically')).status).toBe(200)
    expect((await client.get('/v1/billing/account')).body).toEqual(before)
  })

  test('without a subscription: 409 billing_not_activated, with or without a card', async () => {
    const client = await registerClient(server.url)
    for (const _ of ['without a card', 'with one']) {
      expect(await setMethod(client, 'send_invoice')).toMatchObject({
        status: 409,
        body: { code: 'billing_not_activated' },
      })
      await saveCard(server.url, client)
    }
  })

  test('an unknown method is a 422', async () => {
    const client = await registerClient(server.url)
    for (const method of ['', 'by_mail', null, 1]) {
      expect((await client.patch(methodPath, { collection_method: method })).body.code).toBe(
        'validation_failed',
      )
    }
  })
})
