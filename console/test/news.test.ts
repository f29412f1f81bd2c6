import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { useConsole } from './support/console.ts'
import { startConsoleTestServer } from './support/test-server.ts'
import {
  callByApi,
  createPerson,
  deployByApi,
  heading,
  joinByApi,
  registerByApi,
  see,
  seeGone,
  waitForStatus,
} from './support/steps.ts'

const site = useConsole(startConsoleTestServer)

const deployments = '/api/v1/model-deployments'
const ready = 'berth-tiny is ready.'
const toast = (page: Page, words: string) => page.getByRole('listitem').filter({ hasText: words })
const mark = (page: Page) => page.getByRole('navigation', { name: 'Main' }).getByText('1 deployment has news')
const iconOf = (page: Page) => page.locator('link[rel=icon]').getAttribute('href')

/** Opens a page and waits until its stream is connected. */
async function openWithStream(page: Page, path: string): Promise<void> {
  const connected = page.waitForResponse(
    (response) =>
      response.url().endsWith('/v1/events') && response.request().resourceType() === 'eventsource',
  )
  await page.goto(path)
  await connected
}

/** Headless tabs are always visible, and always have the focus. */
async function setVisibility(page: Page, state: DocumentVisibilityState): Promise<void> {
  await page.evaluate((value) => {
    Object.defineProperty(document, 'visibilityState', { configurable: true, value })
    document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))
  }, state)
}

async function terminate({ request }: Page, id: string): Promise<void> {
  await callByApi(request, 'DELETE', `${deployments}/${id}`)
  await waitForStatus(request, id, 'terminated')
}

test('two tabs tell that a deployment is ready, and both are quiet once it was seen in one', async () => {
  const { page, context } = await site.visit()
  await registerByApi(page, createPerson())
  const other = await context.newPage()
  await openWithStream(page, '/usage')
  await openWithStream(other, '/catalog')
  const usual = await iconOf(page)
  const id = await deployByApi(page)
  for (const tab of [page, other]) {
    await see(toast(tab, ready))
    await mark(tab).waitFor({ state: 'attached' })
    await expect.poll(() => iconOf(tab)).not.toBe(usual)
  }
  await expect.poll(() => page.title()).toBe('(1) Usage · Berth')
  // Another page keeps the mark in its title.
  await page.getByRole('link', { name: 'Billing', exact: true }).click()
  await expect.poll(() => page.title()).toBe('(1) Billing · Berth')

  await toast(other, ready).getByRole('button', { name: 'Open' }).click()
  await other.waitForURL(`**/deployments/${id}`)
  for (const tab of [page, other]) {
    await mark(tab).waitFor({ state: 'detached' })
    await expect.poll(() => iconOf(tab)).toBe(usual)
  }
  await expect.poll(() => page.title()).toBe('Billing · Berth')

  // No message comes twice, and the open page of a deployment needs no message about it.
  await openWithStream(page, '/usage')
  await callByApi(page.request, 'POST', `${deployments}/${id}/sleep`)
  await waitForStatus(page.request, id, 'sleeping')
  await callByApi(page.request, 'POST', `${deployments}/${id}/wake`)
  await see(toast(page, ready))
  expect(await toast(page, ready).count()).toBe(1)
  expect(await toast(other, ready).count()).toBe(0)
  await terminate(page, id)
})

test('a hidden tab sends no request, and tells what it missed when it is seen', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  await openWithStream(page, '/usage')
  const closed = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/v1/events'))
  await setVisibility(page, 'hidden')
  await closed
  const sent: string[] = []
  page.on('request', (request) => sent.push(request.url()))
  const id = await deployByApi(page)
  expect(sent).toEqual([])
  expect(await toast(page, ready).count()).toBe(0)
  await setVisibility(page, 'visible')
  await see(toast(page, ready))
  await terminate(page, id)
})

test('the stream returns after an outage with a restart, and ends with the session', async () => {
  const { page, context, allowPageErrors } = await site.visit()
  allowPageErrors(/ERR_|status of (401|50[234])/)
  await registerByApi(page, createPerson())
  await openWithStream(page, '/catalog')
  await site.server.stop()
  await see(page.getByText('No connection to the server.'))
  await site.server.start()
  await seeGone(page.getByText('No connection to the server.'))
  const id = await deployByApi(page)
  await see(toast(page, ready))
  await terminate(page, id)

  const cookies = await context.cookies()
  await page.request.post('/v1/user/logout')
  await context.addCookies(cookies)
  await page.waitForURL('**/sign-in?return_to=**')
  await see(page.getByText('Your session has ended.'))
})

test('a change by a colleague is told to the owner, and nobody’s own change is', async () => {
  const { page: admin } = await site.visit()
  await registerByApi(admin, createPerson())
  const { page: member } = await site.visit()
  await joinByApi(admin, member, 'member')
  const id = await deployByApi(member)
  await openWithStream(admin, '/usage')
  await openWithStream(member, '/usage')
  const change = (page: Page, idle_minutes: number) =>
    callByApi(page.request, 'PATCH', `${deployments}/${id}?scope=organization`, { idle_minutes })
  await change(member, 30)
  await change(admin, 20)
  await see(toast(member, 'Ada Lovelace changed berth-tiny.'))
  expect(await member.getByRole('button', { name: 'Open' }).count()).toBe(1)
  await callByApi(admin.request, 'DELETE', `${deployments}/${id}?scope=organization`)
  await see(toast(member, 'Ada Lovelace terminates berth-tiny.'))
  expect(await admin.getByRole('button', { name: 'Open' }).count()).toBe(0)
  await waitForStatus(admin.request, id, 'terminated')
})

test('a failure shows as a notification of the browser only after a person has turned them on', async () => {
  const { page, context } = await site.visit()
  await context.addInitScript(() => {
    const shown: string[] = []
    class FakeNotification extends EventTarget {
      static permission = localStorage.getItem('permission') ?? 'default'
      static requestPermission() {
        shown.push('asked')
        localStorage.setItem('permission', 'granted')
        FakeNotification.permission = 'granted'
        return Promise.resolve('granted')
      }
      constructor(message: string) {
        super()
        shown.push(message)
      }
    }
    Object.assign(window, { shown, Notification: FakeNotification })
    document.hasFocus = () => false
  })
  const shown = () => page.evaluate(() => (window as unknown as { shown: string[] }).shown)
  await registerByApi(page, createPerson())
  await openWithStream(page, '/usage')
  const id = await deployByApi(page)
  await see(toast(page, ready))
  expect(await shown()).toEqual([])
  await terminate(page, id)

  await openWithStream(page, '/profile')
  const button = page.getByRole('button', { name: 'Turn on notifications' })
  await button.click()
  await see(page.getByText('Notifications are on.'))
  // The hub of the tests doesn't have these weights.
  await callByApi(page.request, 'POST', deployments, {
    model_name: 'qwen3',
    model_format: 'ggufv2',
    model_size_in_billions: 0.6,
    quantization: 'Q8_0',
  })
  await see(toast(page, 'qwen3 has failed.'))
  expect(await shown()).toEqual(['asked', 'qwen3 has failed.'])
  await page.getByRole('button', { name: 'Turn off notifications' }).click()
  await see(button)
  await toast(page, 'qwen3 has failed.').getByRole('button', { name: 'Open' }).click()
  await see(heading(page, 'qwen3'))
})
