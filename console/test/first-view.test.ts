import { setTimeout as delay } from 'node:timers/promises'
import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { useConsole } from './support/console.ts'
import { isOfApi, measureFirstView } from './support/first-view.ts'
import type { LoadedScript } from './support/first-view.ts'
import { startConsoleTestServer } from './support/test-server.ts'
import { deployByApi, createPerson, heading, registerByApi, see } from './support/steps.ts'

const site = useConsole(startConsoleTestServer)

/** What the code of a page may take, compressed, in bytes */
const mostBytes = { firstView: 115_000, withIdleCode: 170_000 }
/** What a page may ask the API before it shows its content, and until it is idle */
const mostRequests = { beforeContent: 8, untilIdle: 12 }

/** How far the content of a page may move while it loads: what web.dev calls good */
const mostShift = 0.1

/** A move of content, with the beginnings of what moved */
interface Shift {
  value: number
  moved: string[]
}

/** An entry of the Layout Instability API */
interface LayoutShift extends PerformanceEntry {
  value: number
  sources: { node: Node | null }[]
}

/** What each page is there for, by its path */
function listContents(page: Page, id: string): [path: string, content: Locator][] {
  const main = page.getByRole('main')
  return Object.entries({
    '/deployments': page.getByText('Running', { exact: true }),
    [`/deployments/${id}`]: page.getByText('/v1/chat/completions'),
    '/catalog': page.getByRole('link', { name: 'Qwen3', exact: true }),
    '/catalog/qwen3': page.getByRole('table'),
    '/playground': page.getByLabel('Message'),
    '/usage': page.getByRole('application'),
    '/usage/requests': main.getByRole('heading', { level: 1 }),
    '/billing': page.getByRole('button', { name: 'Activate billing' }),
    '/organization': page.getByRole('row').filter({ hasText: 'Ada Lovelace' }),
    '/organization?tab=programs': page.getByRole('heading', { name: 'No programs yet' }),
    '/organization?tab=teams': page.getByRole('button', { name: 'Add a team' }),
    '/organization?tab=invitations': page.getByRole('heading', { name: 'No invitations' }),
    '/organization?tab=settings': page.getByRole('button', { name: 'Set a webhook' }),
    '/organization?tab=audit': page.getByRole('button', { name: 'Export CSV' }),
    '/profile': page.getByLabel('Display name'),
  })
}

test('each page is small, and sends each first request once', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  const id = await deployByApi(page)
  for (const [path, shown] of listContents(page, id)) {
    const view = await measureFirstView(page, path, shown)
    const sum = (scripts: LoadedScript[]) => scripts.reduce((bytes, script) => bytes + script.bytes, 0)
    const list = [...view.scripts, ...view.lateScripts].map((one) => `${one.path} ${one.bytes}`).join('\n')
    const [first, late] = [sum(view.scripts), sum(view.lateScripts)]
    const { requests, allRequests } = view
    console.info(`${path}: ${first} bytes, ${first + late} with idle code`)
    console.info(`${path}: ${requests.length} requests, ${allRequests.length} until it is idle`)
    const all = `${path}\n${allRequests.join('\n')}`
    expect.soft(allRequests.length, all).toBeLessThanOrEqual(mostRequests.untilIdle)
    expect.soft(first, `${path}\n${list}`).toBeLessThanOrEqual(mostBytes.firstView)
    expect.soft(first + late, `${path}\n${list}`).toBeLessThanOrEqual(mostBytes.withIdleCode)
    expect.soft(view.scripts.length, path).toBeGreaterThan(3)
    expect.soft(view.requests.toSorted(), path).toEqual([...new Set(view.requests)].toSorted())
    const lists = view.requests.filter((request) => request.startsWith('/api/v1/model-deployments?'))
    expect.soft(lists.length, lists.join()).toBeLessThanOrEqual(1)
  }
  await page.request.delete(`/api/v1/model-deployments/${id}`)
})

test('each page shows its content with the responses to its first 8 requests', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  const id = await deployByApi(page)
  for (const [path, shown] of listContents(page, id)) {
    const later = Promise.withResolvers<void>()
    const sent: string[] = []
    await page.route(isOfApi, async (route) => {
      const { pathname } = new URL(route.request().url())
      // The news belong to all pages, and begin when a page is idle.
      if (pathname !== '/v1/events' && sent.push(pathname) > mostRequests.beforeContent) await later.promise
      await route.continue()
    })
    await page.goto(path)
    await see(shown)
    later.resolve()
    await page.unrouteAll({ behavior: 'ignoreErrors' })
  }
  await page.request.delete(`/api/v1/model-deployments/${id}`)
})

test('nothing moves on a phone while a page loads', async () => {
  const { page } = await site.visit({ viewport: { width: 412, height: 823 } })
  await registerByApi(page, createPerson())
  const id = await deployByApi(page)
  await page.addInitScript(() => {
    const shifts: Shift[] = []
    Object.assign(window, { shifts })
    new PerformanceObserver((list) => {
      for (const { value, sources } of list.getEntries() as LayoutShift[]) {
        shifts.push({ value, moved: sources.map(({ node }) => node?.textContent?.slice(0, 60) ?? '') })
      }
    }).observe({ type: 'layout-shift', buffered: true })
  })
  // Each request takes as long as on a mobile network, so that a page first shows what it has.
  await page.route(isOfApi, async (route) => {
    await delay(150)
    await route.continue().catch(() => undefined)
  })
  for (const [path, shown] of listContents(page, id)) {
    await page.goto(path)
    await see(shown)
    await page.waitForLoadState('networkidle')
    const shifts = await page.evaluate(() => (window as unknown as { shifts: Shift[] }).shifts)
    const sum = shifts.reduce((total, { value }) => total + value, 0)
    expect.soft(sum, `${path}\n${JSON.stringify(shifts, null, 2)}`).toBeLessThanOrEqual(mostShift)
  }
  await page.request.delete(`/api/v1/model-deployments/${id}`)
})

const hasFocus = (node: Element) => node === document.activeElement

test('the heading of a page is visible before any code has loaded', async () => {
  const { page } = await site.visit({ javaScriptEnabled: false })
  await registerByApi(page, createPerson())
  for (const [path, name] of [
    ['/', 'Deployments'],
    ['/catalog?q=x', 'Catalog'],
    ['/usage', 'Usage'],
  ] as const) {
    await page.goto(path)
    await see(heading(page, name))
    expect(await page.title()).toBe(`${name} · Berth`)
  }
})

test('a menu opens before its code has loaded, and has the focus then', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  const released = Promise.withResolvers<void>()
  await page.route('**/overlays-*.js', async (route) => {
    await released.promise
    await route.continue()
  })
  await page.goto('/deployments')
  const button = page.getByRole('button', { name: 'Ada Lovelace' })
  await button.focus()
  await page.keyboard.press('Enter')
  expect(await button.getAttribute('aria-expanded')).toBe('true')
  expect(await page.getByRole('menu').count()).toBe(0)
  released.resolve()
  const first = page.getByRole('menuitem').first()
  await see(first)
  await expect.poll(() => first.evaluate(hasFocus)).toBe(true)
  await page.keyboard.press('Escape')
  await expect.poll(() => button.evaluate(hasFocus)).toBe(true)
})

test('the catalog renders its first rows before the others, which are painted when they come into view', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  await page.addInitScript(() => {
    const counts: number[] = []
    Object.assign(window, { counts })
    new MutationObserver(() => {
      const count = document.querySelectorAll('main li').length
      if (count > 0 && count !== counts.at(-1)) counts.push(count)
    }).observe(document, { childList: true, subtree: true })
  })
  await page.goto('/catalog')
  const rows = page.getByRole('main').getByRole('listitem')
  await expect.poll(() => rows.count()).toBeGreaterThan(60)
  const counts = await page.evaluate(() => (window as unknown as { counts: number[] }).counts)
  expect(counts[0]).toBeLessThanOrEqual(12)
  expect(await rows.last().evaluate((row) => getComputedStyle(row).contentVisibility)).toBe('auto')
  await rows.last().scrollIntoViewIfNeeded()
  await see(rows.last().getByRole('link'))

  // Back from a model, the list is where it was, although rows out of view have estimated heights.
  await rows.nth(40).scrollIntoViewIfNeeded()
  const link = rows.nth(40).getByRole('link')
  await link.hover()
  const findTop = () => link.evaluate((element) => element.getBoundingClientRect().top)
  const top = await findTop()
  await link.click()
  await page.waitForURL('**/catalog/*')
  await see(page.getByRole('table'))
  await page.goBack()
  await expect.poll(async () => Math.abs((await findTop()) - top)).toBeLessThanOrEqual(1)
})

test('the usage chart tells the cost of a day to the pointer and after an arrow key', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  const id = await deployByApi(page)
  await page.request.delete(`/api/v1/model-deployments/${id}`)
  await page.goto('/usage')
  const chart = page.getByRole('application', { name: /^Cost from .+ in total\. Use the arrow keys/ })
  const card = chart.getByRole('status')
  await chart.focus()
  await page.keyboard.press('ArrowLeft')
  await see(card.getByText('local-cpu'))
  await page.keyboard.press('Home')
  await see(card)
  expect(await card.getByText('local-cpu').count()).toBe(new Date().getUTCDate() === 1 ? 1 : 0)
  await page.keyboard.press('Tab')
  await expect.poll(() => card.count()).toBe(0)
  const { width = 0 } = (await chart.boundingBox()) ?? {}
  await chart.hover({ position: { x: width - 3, y: 40 } })
  await see(card.getByText('local-cpu'))
})
