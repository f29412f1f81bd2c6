import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { publishSandboxPrices } from '../../server/src/features/billing/processor/publish-prices.ts'
import { activate } from '../../server/test/support/billing.ts'
import { registerClient } from '../../server/test/support/client.ts'
import { createTestClock, hour } from '../../server/test/support/clock.ts'
import { localPriceKey } from '../../server/test/support/sealed-usage.ts'
import { startTestServer } from '../../server/test/support/server.ts'
import { useConsole } from './support/console.ts'
import { see } from './support/steps.ts'

const clock = createTestClock()

const site = useConsole(async () => {
  const server = await startTestServer({ worker: false, clock: clock.now })
  await publishSandboxPrices(server.application)
  return server
})

/** Advances the sandbox without delivering its webhooks. */
const tick = () =>
  site.server.application.paymentSandbox!.tick(() => Promise.reject(new Error('unreachable')))

/** Uses a million seconds of an instance, and lets the period end with an invoice that is sent. */
async function receiveInvoice() {
  const account = await registerClient(site.server.url)
  const { body: activated } = await activate(site.server.url, account)
  await site.server.application.payments.sendUsage({
    priceKey: localPriceKey,
    customerId: (await account.get('/v1/billing/account')).body.processor_customer_id,
    identifier: 'some usage',
    at: clock.now(),
    quantity: 1_000_000,
  })
  await account.patch('/v1/billing/subscription/collection-method', { collection_method: 'send_invoice' })
  for (const step of [Date.parse(activated.current_period_end) - clock.now().getTime() + 60_000, 2 * hour]) {
    clock.advance(step)
    await tick()
  }
  return account
}

test('an open invoice leads to its page, is paid there, and has a proof to download', async () => {
  const { email, password } = await receiveInvoice()
  const { page } = await site.visit()
  await page.request.post('/v1/user/signin', { data: { email, password } })
  await page.goto('/billing')
  const row = page.getByRole('region', { name: 'Invoices' }).getByRole('row').last()
  await see(row.getByText('$10.00'))
  await see(row.getByText('Open', { exact: true }))

  // The server's address in links has no port, because the system chooses it.
  const address = await row.getByRole('link', { name: /^Pay: / }).getAttribute('href')
  await page.goto(new URL(address ?? '').pathname)
  await see(page.getByRole('heading', { name: /^Invoice / }))
  await see(page.getByRole('row').filter({ hasText: 'Total' }).getByText('$10.00'))
  await see(page.getByRole('cell', { name: '1,000,000' }))
  await page.getByRole('button', { name: 'Pay with this card' }).click()
  await see(page.getByText('Paid', { exact: true }))

  await page.goto('/billing')
  await see(row.getByText('Paid', { exact: true }))
  await see(row.getByRole('link', { name: /^View: / }))
  await row.getByRole('button', { name: /^Verify: / }).click()
  const downloading = page.waitForEvent('download')
  await page.getByRole('dialog').getByRole('link', { name: 'Download proof' }).click()
  const proof = await (await downloading).path()
  expect(JSON.parse(await readFile(proof, 'utf8'))).toHaveProperty('invoice')
})
