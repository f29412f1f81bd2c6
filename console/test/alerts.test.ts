import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import { startWebhookReceiver } from '../../server/test/support/webhook-receiver.ts'
import type { WebhookReceiver } from '../../server/test/support/webhook-receiver.ts'
import { useConsole } from './support/console.ts'
import { startConsoleTestServer } from './support/test-server.ts'
import { callByApi, createPerson, heading, joinByApi, registerByApi, see, seeGone } from './support/steps.ts'

const path = '/v1/organization/alert-webhook'
const site = useConsole(() => startConsoleTestServer({ WEBHOOK_NETWORKS: '127.0.0.0/8' }))

let receiver: WebhookReceiver
beforeAll(async () => {
  receiver = await startWebhookReceiver()
})
afterAll(() => receiver.close())
beforeEach(() => {
  receiver.received.length = 0
})

const dialog = (page: Page) => page.getByRole('dialog')
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()

/** Reads the secret in the dialog that shows it, and closes the dialog, which Escape does not. */
async function takeSecret(page: Page): Promise<string> {
  await see(heading(page, 'Copy the signing secret'))
  await page.keyboard.press('Escape')
  await see(dialog(page).getByRole('button', { name: 'Copy Signing secret' }))
  const secret = await dialog(page).getByLabel('Signing secret', { exact: true }).innerText()
  await press(page, 'I have copied it')
  await seeGone(dialog(page))
  expect(await page.content()).not.toContain(secret)
  return secret
}

async function saveUrl(page: Page, url: string): Promise<void> {
  await dialog(page).getByLabel('URL').fill(url)
  await dialog(page).getByRole('button', { name: 'Save' }).click()
}

test('an admin sets a webhook, sees its secret once, changes the URL, replaces the secret, sends a test, and removes the webhook', async () => {
  const { page, allowPageErrors } = await site.visit()
  allowPageErrors(/status of 422/)
  await registerByApi(page, createPerson())
  await page.goto('/organization?tab=settings')
  await see(page.getByText('No webhook is set.'))
  await press(page, 'Set a webhook')
  await saveUrl(page, 'https://10.0.0.1/')
  await see(dialog(page).getByText(/^Must be a public address/))
  await saveUrl(page, receiver.url)
  const first = await takeSecret(page)
  await see(page.getByText(receiver.url, { exact: true }))
  await see(page.getByText('None yet'))

  await press(page, 'Change URL')
  await saveUrl(page, `${receiver.url}&again`)
  await see(page.getByText('The URL was changed. The secret stays the same.'))
  await see(page.getByText(`${receiver.url}&again`, { exact: true }))

  await press(page, 'Replace secret')
  await dialog(page).getByRole('button', { name: 'Replace secret' }).click()
  const second = await takeSecret(page)
  expect(second).not.toBe(first)

  await press(page, 'Send a test alert')
  await see(page.getByRole('status').filter({ hasText: /^Delivered ?Test alert, / }))
  await receiver.waitForAlerts('webhook.test', second)
  await expect(receiver.waitForAlerts('webhook.test', first)).rejects.toThrow('No matching signature')

  await press(page, 'Delete webhook')
  await dialog(page).getByRole('button', { name: 'Delete webhook' }).click()
  await see(page.getByText('The webhook was deleted.'))
  await see(page.getByText('No webhook is set.'))
})

test('the outcome of a test says why it failed, and only admins see alerts', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  await callByApi(page.request, 'PATCH', path, { url: receiver.url })
  receiver.answers.push((_, response) => response.writeHead(410).end())
  await page.goto('/organization?tab=settings')
  await press(page, 'Send a test alert')
  await see(page.getByRole('status').filter({ hasText: /^Failed ?Test alert, / }))
  await see(page.getByText('The receiver answered 410: it is gone.'))

  const { page: member } = await site.visit()
  await joinByApi(page, member, 'member')
  await member.goto('/organization?tab=settings')
  await see(heading(member, 'Organization settings'))
  expect(await heading(member, 'Alerts').count()).toBe(0)
})

test('a webhook that another admin has removed is gone after the next action', async () => {
  const { page, allowPageErrors } = await site.visit()
  allowPageErrors(/status of 404/)
  await registerByApi(page, createPerson())
  await callByApi(page.request, 'PATCH', path, { url: receiver.url })
  await page.goto('/organization?tab=settings')
  await see(page.getByText(receiver.url, { exact: true }))
  await callByApi(page.request, 'DELETE', path)
  await press(page, 'Send a test alert')
  await see(page.getByText('No webhook is set.'))
  expect(receiver.received).toEqual([])
})
