import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { applyBillingEvent, storeEvent } from '../../src/features/billing/processor/events.ts'
import { publishSandboxPrices } from '../../src/features/billing/processor/publish-prices.ts'
import { sweepBillingEvents } from '../../src/features/billing/processor/sweep-events.ts'
import { resumeActivation } from '../../src/features/billing/processor/activate.ts'
import type { PaymentProcessor } from '../../src/ports/payment-processor.ts'
import { activate, saveCard, waitForAccount } from '../support/billing.ts'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { createTestClock, day } from '../support/clock.ts'
import { callSandbox, openSandboxTables } from '../support/sandbox.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const deploy = (client: Client) => client.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })

async function cancel(server: TestServer, client: Client): Promise<void> {
  const { body } = await client.get('/v1/billing/account')
  await callSandbox(server.application, 'DELETE', `/v1/subscriptions/${body.processor_subscription_id}`)
}

/** The application with some methods of the processor replaced and a spy on findSubscription. */
function watch(server: TestServer, changes: Partial<PaymentProcessor> = {}) {
  const payments = { ...server.application.payments, ...changes }
  const findSubscription = vi.fn(payments.findSubscription)
  return {
    application: { ...server.application, payments: { ...payments, findSubscription } },
    findSubscription,
  }
}

describe('with a worker and the webhook', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer({ runtime: createScriptedRuntime() })
  })
  afterAll(() => server.close())

  test('a subscription canceled at the processor: the account stays postpaid, creating a deployment is a 409 billing_not_activated', async () => {
    const client = await registerClient(server.url)
    await activate(server.url, client)
    expect((await deploy(client)).status).toBe(201)
    await cancel(server, client)
    const account = await waitForAccount(client, { subscription_status: 'canceled' })
    expect(account).toMatchObject({ billing_mode: 'postpaid', status: 'active' })
    expect((await deploy(client)).body.code).toBe('billing_not_activated')
    const method = await client.patch('/v1/billing/subscription/collection-method', {
      collection_method: 'send_invoice',
    })
    expect(method.body.code).toBe('billing_not_activated')
  })

  test('a false event changes nothing, because the subscription is fetched from the processor', async () => {
    const client = await registerClient(server.url)
    await activate(server.url, client)
    const { body: before } = await client.get('/v1/billing/account')
    const event = { id: 'evt_lie', type: 'customer.subscription.deleted', created: new Date() }
    await storeEvent(server.application, { ...event, customerId: before.processor_customer_id })
    await vi.waitFor(
      async () => expect(await findEvent(server, 'evt_lie')).toMatchObject({ outcome: 'applied' }),
      20_000,
    )
    expect((await client.get('/v1/billing/account')).body).toEqual(before)
  })

  test('events with an unknown customer or without one are stored and ignored', async () => {
    for (const [id, customerId] of [
      ['evt_unknown', 'cus_unknown'],
      ['evt_none', null],
    ] as const) {
      await storeEvent(server.application, { id, type: 'price.created', created: new Date(), customerId })
      await vi.waitFor(
        async () => expect(await findEvent(server, id)).toMatchObject({ outcome: 'ignored' }),
        20_000,
      )
    }
  })
})

describe('without a worker and without webhooks', () => {
  const clock = createTestClock()
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer({ worker: false, clock: clock.now })
    await publishSandboxPrices(server.application)
  })
  afterAll(() => server.close())

  test('the sweep backfills missed events once', async () => {
    await sweepBillingEvents(server.application)
    const client = await registerClient(server.url)
    await activate(server.url, client)
    await cancel(server, client)
    expect((await client.get('/v1/billing/account')).body.subscription_status).toBe('active')
    await sweepBillingEvents(server.application)
    const events = await server.application.db.selectFrom('billing_events').selectAll().execute()
    expect((await client.get('/v1/billing/account')).body.subscription_status).toBe('active')
    expect(events.map(({ type }) => type)).toContain('customer.subscription.deleted')
    for (const { id } of events) await applyBillingEvent(server.application, id)
    expect((await client.get('/v1/billing/account')).body.subscription_status).toBe('canceled')
    await sweepBillingEvents(server.application)
    const again = await server.application.db.selectFrom('billing_events').select('id').execute()
    expect(again).toHaveLength(events.length)
    const [late] = events
    expect(
      await storeEvent(server.application, {
        id: late!.id,
        type: late!.type,
        created: late!.created_at,
        customerId: late!.customer_id,
      }),
    ).toBe(false)
  })

  test('many events of one customer cause one request to the processor, never two at once', async () => {
    const client = await registerClient(server.url)
    await activate(server.url, client)
    const { body: account } = await client.get('/v1/billing/account')
    const ids = Array.from({ length: 20 }, (_, index) => `evt_many_${index}`)
    for (const id of ids) {
      await storeEvent(server.application, {
        id,
        type: 'invoice.paid',
        created: new Date(),
        customerId: account.processor_customer_id,
      })
    }
    let atOnce = 0
    const seen: number[] = []
    const { application, findSubscription } = watch(server, {
      async findSubscription(customerId) {
        seen.push(++atOnce)
        await new Promise(setImmediate)
        const found = await server.application.payments.findSubscription(customerId)
        atOnce -= 1
        return found
      },
    })
    await Promise.all(ids.map((id) => applyBillingEvent(application, id)))
    expect(findSubscription).toHaveBeenCalledTimes(1)
    expect(Math.max(...seen)).toBe(1)
    expect(await findEvent(server, ids[19]!)).toMatchObject({ outcome: 'applied' })
  })

  test('an event whose sync fails stays unhandled and succeeds on retry', async () => {
    const client = await registerClient(server.url)
    await activate(server.url, client)
    const { body: account } = await client.get('/v1/billing/account')
    const event = { id: 'evt_fault', type: 'invoice.paid', created: new Date() }
    await storeEvent(server.application, { ...event, customerId: account.processor_customer_id })
    const { application } = watch(server, {
      findSubscription: () => Promise.reject(new Error('the connection was reset')),
    })
    await expect(applyBillingEvent(application, event.id)).rejects.toThrow('the connection was reset')
    expect(await findEvent(server, event.id)).toMatchObject({ handled_at: null })
    await applyBillingEvent(server.application, event.id)
    expect(await findEvent(server, event.id)).toMatchObject({ outcome: 'applied' })
  })

  test('the processor fails during an activation: 503, and the job resumes the same activation', async () => {
    const client = await registerClient(server.url)
    const card = await saveCard(server.url, client)
    const create = vi
      .spyOn(server.application.payments, 'createSubscription')
      .mockImplementationOnce(async (subscription) => {
        create.mockRestore()
        await server.application.payments.createSubscription(subscription)
        throw new Error('the response was lost')
      })
    const answer = await client.post('/v1/billing/subscription/activate-postpaid', {
      processor_payment_method_id: card.id,
    })
    expect(answer).toMatchObject({ status: 503, body: { code: 'payment_processor_unavailable' } })
    expect(answer.headers.get('retry-after')).toBe('5')
    expect((await client.get('/v1/billing/account')).body.billing_mode).toBe('trial')
    const pending = await server.application.db
      .selectFrom('billing_activations')
      .selectAll()
      .where('status', '=', 'pending')
      .executeTakeFirstOrThrow()
    await resumeActivation(server.application, pending.id)
    const { body: account } = await client.get('/v1/billing/account')
    expect(account).toMatchObject({ billing_mode: 'postpaid', subscription_status: 'active' })
    const { data } = await callSandbox(
      server.application,
      'GET',
      `/v1/subscriptions?customer=${account.processor_customer_id}`,
    )
    expect(data).toHaveLength(1)
  })

  test('the processor fails permanently: 503, and the next attempt is a new activation', async () => {
    const client = await registerClient(server.url)
    const card = await saveCard(server.url, client)
    const { payments } = server.application
    const keys: string[] = []
    const create = vi.spyOn(payments, 'createSubscription').mockImplementation(async (subscription) => {
      keys.push(subscription.idempotencyKey)
      return { outcome: 'failed', error: new Error('an error at the processor') }
    })
    const click = () =>
      client.post('/v1/billing/subscription/activate-postpaid', { processor_payment_method_id: card.id })
    for (const _ of ['once', 'twice']) {
      expect(await click()).toMatchObject({ status: 503, body: { code: 'payment_processor_unavailable' } })
    }
    expect(new Set(keys).size).toBe(2)
    create.mockRestore()
    expect(await click()).toMatchObject({ status: 200, body: { subscription_status: 'active' } })
  })

  test('a switch to another processor account without the customers: nothing is charged until a card is saved there', async () => {
    const client = await registerClient(server.url)
    await activate(server.url, client)
    const { body: before } = await client.get('/v1/billing/account')
    await sweepBillingEvents(server.application)
    await openSandboxTables(server.application).deleteFrom('objects').where('type', '=', 'customer').execute()
    const { application } = watch(server, { account: 'another one' })
    await sweepBillingEvents(application)
    expect((await client.get('/v1/billing/account')).body).toMatchObject({
      billing_mode: 'postpaid',
      subscription_status: 'canceled',
    })
    expect((await deploy(client)).body.code).toBe('billing_not_activated')
    for (const path of ['/v1/billing/payment-methods', '/v1/billing/invoices']) {
      expect(await client.get(path)).toMatchObject({ status: 200, body: [] })
    }
    expect((await client.post('/v1/billing/portal/session', {})).status).toBe(200)
    expect(await activate(server.url, client)).toMatchObject({
      status: 200,
      body: { subscription_status: 'active' },
    })
    const { body: after } = await client.get('/v1/billing/account')
    expect(after.processor_customer_id).not.toBe(before.processor_customer_id)
    expect(after.processor_subscription_id).not.toBe(before.processor_subscription_id)
    expect((await deploy(client)).status).toBe(201)
    expect(await server.application.db.selectFrom('billing_sweeps').select('processor').execute()).toEqual([
      { processor: 'another one' },
    ])
  })

  test('with a new SECRET_KEY, which changes the installation name, subscriptions are claimed once', async () => {
    const client = await registerClient(server.url)
    await activate(server.url, client)
    const { body: account } = await client.get('/v1/billing/account')
    const { payments } = server.application
    const claimSubscription = vi.fn((id: string) => payments.claimSubscription(id))
    const { application } = watch(server, { account: 'another name', claimSubscription })
    for (const _ of ['first', 'second']) await sweepBillingEvents(application)
    const claimed = claimSubscription.mock.calls.flat()
    expect(claimed.filter((id) => id === account.processor_subscription_id)).toHaveLength(1)
  })

  test('a customer deleted at the processor is replaced when a card is saved', async () => {
    const client = await registerClient(server.url)
    await activate(server.url, client)
    const { body: before } = await client.get('/v1/billing/account')
    await openSandboxTables(server.application)
      .deleteFrom('objects')
      .where('id', '=', before.processor_customer_id)
      .execute()
    await client.post('/v1/billing/checkout/setup-session', {})
    const { body: between } = await client.get('/v1/billing/account')
    expect(between).toMatchObject({ subscription_status: 'canceled' })
    expect(between.processor_customer_id).not.toBe(before.processor_customer_id)
    expect((await activate(server.url, client)).status).toBe(200)
  })

  test('a pending activation is refused after a day, because its idempotency key has expired', async () => {
    const client = await registerClient(server.url)
    const card = await saveCard(server.url, client)
    const create = vi
      .spyOn(server.application.payments, 'createSubscription')
      .mockRejectedValueOnce(new Error('the connection was reset'))
    await client.post('/v1/billing/subscription/activate-postpaid', { processor_payment_method_id: card.id })
    create.mockRestore()
    const activation = await server.application.db
      .selectFrom('billing_activations')
      .selectAll()
      .where('status', '=', 'pending')
      .executeTakeFirstOrThrow()
    clock.advance(day)
    await resumeActivation(server.application, activation.id)
    expect((await client.get('/v1/billing/account')).body.billing_mode).toBe('trial')
  })
})

function findEvent({ application }: TestServer, id: string) {
  return application.db.selectFrom('billing_events').selectAll().where('id', '=', id).executeTakeFirst()
}
