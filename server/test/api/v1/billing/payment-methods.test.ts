import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { acquireLease, getAccountOf, releaseLease } from '../../../../src/features/billing/account/store.ts'
import { publishSandboxPrices } from '../../../../src/features/billing/processor/publish-prices.ts'
import { syncAccount } from '../../../../src/features/billing/processor/sync-account.ts'
import { activate, cardNumbers, saveCard } from '../../../support/billing.ts'
import { registerClient } from '../../../support/client.ts'
import type { Client } from '../../../support/client.ts'
import { callSandbox } from '../../../support/sandbox.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const path = '/v1/billing/payment-methods'
const setDefault = (client: Client, id: string) =>
  client.patch(`${path}/default`, { processor_default_payment_method_id: id })

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ worker: false })
  await publishSandboxPrices(server.application)
})
afterAll(() => server.close())

describe('GET /v1/billing/payment-methods', () => {
  test('empty before the first card', async () => {
    expect((await (await registerClient(server.url)).get(path)).body).toEqual([])
  })

  test('returns saved cards with all fields', async () => {
    const client = await registerClient(server.url)
    await saveCard(server.url, client)
    await saveCard(server.url, client, cardNumbers.worksToo)
    const { status, body } = await client.get(path)
    expect(status).toBe(200)
    expect(body).toHaveLength(2)
    expect(body).toContainEqual({
      id: expect.stringMatching(/^pm_/),
      brand: 'visa',
      last4: '4242',
      exp_month: 12,
      exp_year: 2034,
      is_default: expect.any(Boolean),
      allow_redisplay: expect.stringMatching(/^(always|limited|unspecified)$/),
    })
    expect(body.filter((card: any) => card.is_default).length).toBeLessThanOrEqual(1)
  })

  test('does not include the cards of other organizations', async () => {
    await saveCard(server.url, await registerClient(server.url))
    expect((await (await registerClient(server.url)).get(path)).body).toEqual([])
  })
})

describe('PATCH /v1/billing/payment-methods/default', () => {
  test('returns the card as the only default', async () => {
    const client = await registerClient(server.url)
    const cards = [
      await saveCard(server.url, client),
      await saveCard(server.url, client, cardNumbers.worksToo),
    ]
    for (const card of [...cards, ...cards]) {
      expect(await setDefault(client, card.id)).toMatchObject({
        status: 200,
        body: { ...card, is_default: true },
      })
      const { body } = await client.get(path)
      expect(body.filter((each: any) => each.is_default).map((each: any) => each.id)).toEqual([card.id])
    }
  })

  test('while another process changes the account: 503 billing_change_in_progress, after ten seconds', async () => {
    const client = await registerClient(server.url)
    const card = await saveCard(server.url, client)
    const { db } = server.application
    const { id } = await getAccountOf(db, (await client.get('/v1/organization')).body.id)
    const { lease_number: number } = (await acquireLease(db, id, 60))!
    const [now, start] = [performance.now.bind(performance), performance.now()]
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => start + (now() - start) * 100)
    const answer = await setDefault(client, card.id).finally(() => clock.mockRestore())
    expect(answer).toMatchObject({ status: 503, body: { code: 'billing_change_in_progress' } })
    expect(answer.headers.get('retry-after')).toBe('10')
    await releaseLease(db, { accountId: id, number })
    expect((await setDefault(client, card.id)).status).toBe(200)
  })

  test('the subscription is charged to the new default', async () => {
    const client = await registerClient(server.url)
    await activate(server.url, client)
    const other = await saveCard(server.url, client, cardNumbers.worksToo)
    await setDefault(client, other.id)
    const { body: account } = await client.get('/v1/billing/account')
    const { payments } = server.application
    expect(await payments.findSubscription(account.processor_customer_id)).toMatchObject({
      defaultPaymentMethodId: other.id,
    })
  })

  test('an unknown card and another organization’s card are a 404', async () => {
    const client = await registerClient(server.url)
    await saveCard(server.url, client)
    const foreign = await saveCard(server.url, await registerClient(server.url))
    for (const id of [foreign.id, 'pm_unknown', '../customers', 'x'.repeat(255), '€']) {
      expect(await setDefault(client, id), id).toMatchObject({ status: 404, body: { code: 'not_found' } })
    }
    expect((await setDefault(await registerClient(server.url), foreign.id)).status).toBe(404)
  })

  test('an invalid body is a 422', async () => {
    const client = await registerClient(server.url)
    for (const body of [
      {},
      { processor_default_payment_method_id: '' },
      { processor_default_payment_method_id: 1 },
    ]) {
      expect((await client.patch(`${path}/default`, body)).body.code).toBe('validation_failed')
    }
  })
})

describe('the only card', () => {
  const listDefaults = async (client: Client) =>
    (await client.get(path)).body.map((card: any) => [card.last4, card.is_default])
  const sync = async (client: Client) => {
    const { body: account } = await client.get('/v1/billing/account')
    await syncAccount(server.application, account.id)
  }

  test('becomes the default after the processor’s event; a second card does not', async () => {
    const client = await registerClient(server.url)
    await saveCard(server.url, client)
    await sync(client)
    expect(await listDefaults(client)).toEqual([['4242', true]])
    await saveCard(server.url, client, cardNumbers.worksToo)
    await sync(client)
    expect((await listDefaults(client)).filter(([, isDefault]: any) => isDefault)).toEqual([['4242', true]])
  })

  test('that remains after another one was removed becomes the default', async () => {
    const client = await registerClient(server.url)
    const first = await saveCard(server.url, client)
    await setDefault(client, first.id)
    const second = await saveCard(server.url, client, cardNumbers.worksToo)
    expect((await client.delete(`${path}/${first.id}`)).status).toBe(204)
    expect(await listDefaults(client)).toEqual([[second.last4, true]])
  })
})

describe('DELETE /v1/billing/payment-methods/{payment_method_id}', () => {
  test('204 without a body, and the card is removed; repeating is a 404', async () => {
    const client = await registerClient(server.url)
    const card = await saveCard(server.url, client)
    const answer = await client.delete(`${path}/${card.id}`)
    expect(answer).toMatchObject({ status: 204, body: '' })
    expect((await client.get(path)).body).toEqual([])
    expect((await client.delete(`${path}/${card.id}`)).status).toBe(404)
  })

  test('another organization’s card is a 404 and is kept', async () => {
    const owner = await registerClient(server.url)
    const card = await saveCard(server.url, owner)
    const client = await registerClient(server.url)
    await saveCard(server.url, client)
    expect((await client.delete(`${path}/${card.id}`)).status).toBe(404)
    expect((await client.delete(`${path}/pm_unknown`)).status).toBe(404)
    expect((await owner.get(path)).body).toHaveLength(1)
  })

  test('the card that the subscription is charged to: another card takes its place', async () => {
    const client = await registerClient(server.url)
    await activate(server.url, client)
    const other = await saveCard(server.url, client, cardNumbers.worksToo)
    const { body: cards } = await client.get(path)
    const charged = cards.find((card: { is_default: boolean }) => card.is_default)
    expect((await client.delete(`${path}/${charged.id}`)).status).toBe(204)
    expect((await client.get(path)).body).toMatchObject([{ id: other.id, is_default: true }])
    const { body: account } = await client.get('/v1/billing/account')
    const { data } = await callSandbox(
      server.application,
      'GET',
      `/v1/subscriptions?customer=${account.processor_customer_id}`,
    )
    expect(data[0].default_payment_method).toBe(other.id)
  })

  test('the only card that the subscription is charged to is removed too', async () => {
    const client = await registerClient(server.url)
    await activate(server.url, client)
    const {
      body: [card],
    } = await client.get(path)
    expect((await client.delete(`${path}/${card.id}`)).status).toBe(204)
    expect((await client.get(path)).body).toEqual([])
  })

  test('every card can be removed while invoices are sent', async () => {
    const client = await registerClient(server.url)
    await activate(server.url, client)
    await client.patch('/v1/billing/subscription/collection-method', { collection_method: 'send_invoice' })
    const {
      body: [card],
    } = await client.get(path)
    expect((await client.delete(`${path}/${card.id}`)).status).toBe(204)
    expect(
      await client.patch('/v1/billing/subscription/collection-method', {
        collection_method: 'charge_automatically',
      }),
    ).toMatchObject({ status: 409, body: { code: 'payment_method_required' } })
  })
})
