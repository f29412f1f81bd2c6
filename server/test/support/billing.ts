import { expect, vi } from 'vitest'
import { createClient, registerClient } from './client.ts'
import type { Client } from './client.ts'

/** The sandbox's test cards by their behavior. */
export const cardNumbers = {
  works: '4242424242424242',
  worksToo: '5555555555554444',
  isDeclined: '4000000000000002',
  asksOnce: '4000002500003155',
  asksAlways: '4000002760003184',
  failsAtInvoice: '4000000000000341',
} as const

/** The path of a setup session's checkout page. */
export function checkoutPath({ client_secret: secret }: { client_secret: string }): string {
  return `/sandbox/billing/checkout/${secret}`
}

/** Enters a card on the checkout page and approves the bank verification; returns the last response. */
export async function enterCard(url: string, path: string, number: string) {
  const browser = createClient(url)
  const page = await browser.get(path)
  expect(page.status).toBe(200)
  const submit = (fields: Record<string, string>) =>
    browser.request('POST', path, new URLSearchParams(fields).toString(), {
      'content-type': 'application/x-www-form-urlencoded',
    })
  const answer = await submit({ number, expiry: '12 / 34', cvc: '123', name: 'Ada Lovelace' })
  if (answer.status !== 200) return answer
  const [, card = ''] = /name="card" value="([^"]+)"/.exec(answer.body) ?? []
  return submit({ card, answer: 'yes' })
}

/** Saves a card through a setup session and returns it in the API's format. */
export async function saveCard(url: string, client: Client, number: string = cardNumbers.works) {
  const session = await client.post('/v1/billing/checkout/setup-session', {})
  expect(session.status).toBe(200)
  expect((await enterCard(url, checkoutPath(session.body), number)).status).toBe(303)
  const cards = await client.get('/v1/billing/payment-methods')
  return cards.body.find((card: { last4: string }) => card.last4 === number.slice(-4))
}

/** Activates postpaid billing for the client's organization. */
export async function activate(url: string, client: Client, number: string = cardNumbers.works) {
  const card = await saveCard(url, client, number)
  return client.post('/v1/billing/subscription/activate-postpaid', { processor_payment_method_id: card.id })
}

/** Registers a person whose organization pays as it goes; returns them with their billing account. */
export async function registerPostpaid(url: string) {
  const client = await registerClient(url)
  await activate(url, client)
  const { body: account } = await client.get('/v1/billing/account')
  return { client, account }
}

/** Waits until the billing account has the expected values and returns it. */
export function waitForAccount(client: Client, expected: Record<string, unknown>) {
  return vi.waitFor(
    async () => {
      const { body } = await client.get('/v1/billing/account')
      expect(body).toMatchObject(expected)
      return body
    },
    { timeout: 30_000, interval: 100 },
  )
}

/** Pays an open invoice with another card on its hosted page. */
export function payInvoice(url: string, invoice: { hosted_invoice_url: string }, number: string) {
  const fields = { number, expiry: '12 / 34', cvc: '123', name: 'Ada Lovelace' }
  return createClient(url).request(
    'POST',
    `${new URL(invoice.hosted_invoice_url).pathname}/pay`,
    new URLSearchParams(fields).toString(),
    { 'content-type': 'application/x-www-form-urlencoded' },
  )
}
