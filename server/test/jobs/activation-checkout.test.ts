import { afterAll, beforeAll, expect, test } from 'vitest'
import { applyBillingEvent } from '../../src/features/billing/processor/events.ts'
import { publishSandboxPrices } from '../../src/features/billing/processor/publish-prices.ts'
import { cardNumbers, checkoutPath, enterCard, saveCard, waitForAccount } from '../support/billing.ts'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
  await publishSandboxPrices(server.application)
})
afterAll(() => server.close())

async function openCheckout(client: Client, purpose: string) {
  const { body } = await client.post('/v1/billing/checkout/setup-session', { purpose })
  return body
}

const listOpenCheckouts = () =>
  server.application.db
    .selectFrom('billing_checkouts')
    .select('session_id')
    .where('finished_at', 'is', null)
    .execute()

test('completing a checkout with the purpose postpaid_activation activates billing with its card', async () => {
  const client = await registerClient(server.url)
  const session = await openCheckout(client, 'postpaid_activation')
  await enterCard(server.url, checkoutPath(session), cardNumbers.works)
  const account = await waitForAccount(client, { billing_mode: 'postpaid', subscription_status: 'active' })
  expect(account.auto_charge_enabled_by_user_id).toEqual(expect.any(Number))
  const [card] = (await client.get('/v1/billing/payment-methods')).body
  expect(card).toMatchObject({ is_default: true, last4: '4242' })
  // Activating again, as the console does when the person returns, changes nothing.
  const again = { processor_payment_method_id: card.id }
  expect(await client.post('/v1/billing/subscription/activate-postpaid', again)).toMatchObject({
    status: 200,
    body: { current_period_start: account.current_period_start },
  })
  await expect.poll(listOpenCheckouts).toEqual([])
})

test('other checkouts and one whose card can’t be charged do not activate billing', async () => {
  const client = await registerClient(server.url)
  await saveCard(server.url, client)
  const session = await openCheckout(client, 'postpaid_activation')
  await enterCard(server.url, checkoutPath(session), cardNumbers.asksAlways)
  await expect.poll(listOpenCheckouts).toEqual([])
  const { body: account } = await client.get('/v1/billing/account')
  expect(account).toMatchObject({ billing_mode: 'trial', subscription_status: 'none' })
})

test('a checkout survives a processor that is down when its event is applied', async () => {
  const client = await registerClient(server.url)
  const session = await openCheckout(client, 'postpaid_activation')
  const { application } = server
  const { body: account } = await client.get('/v1/billing/account')
  const event = { id: 'evt_down', type: 'checkout.session.completed', created: new Date() }
  await application.db
    .insertInto('billing_events')
    .values({
      id: event.id,
      type: event.type,
      customer_id: account.processor_customer_id,
      created_at: event.created,
    })
    .execute()
  const payments = {
    ...application.payments,
    findSetupResult: () => Promise.reject(new Error('the processor is down')),
  }
  await expect(applyBillingEvent({ ...application, payments }, event.id)).rejects.toThrow('down')
  expect((await listOpenCheckouts()).map(({ session_id: id }) => id)).toContain(session.checkout_session_id)
  await enterCard(server.url, checkoutPath(session), cardNumbers.works)
  await applyBillingEvent(application, event.id)
  await waitForAccount(client, { billing_mode: 'postpaid' })
})
