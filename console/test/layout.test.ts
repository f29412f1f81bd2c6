import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { useConsole } from './support/console.ts'
import { startConsoleTestServer } from './support/test-server.ts'
import {
  callByApi,
  createPerson,
  deployByApi,
  heading,
  registerByApi,
  see,
  seeGone,
} from './support/steps.ts'

const site = useConsole(startConsoleTestServer)

/** The labels below the charts that touch their neighbor. */
const findTouchingLabels = (page: Page) =>
  page.getByRole('application').evaluateAll((charts) =>
    charts.flatMap((chart) => {
      const labels = [...(chart.lastElementChild?.children ?? [])].filter((label) => label.checkVisibility())
      const boxes = labels.map((label) => label.getBoundingClientRect())
      const isTouching = (index: number) => index > 0 && boxes[index]!.left - boxes[index - 1]!.right < 4
      const count = labels.length < 2 ? ['fewer than two labels'] : []
      return [...count, ...labels.filter((_, index) => isTouching(index)).map((label) => label.textContent)]
    }),
  )

test('at each width, tab bars have no scrollbar and the labels of charts do not touch', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  const id = await deployByApi(page)
  const body = { model: id, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 4 }
  await callByApi(page.request, 'POST', '/v1/chat/completions', body)
  await page.goto(`/deployments/${id}?tab=metrics`)
  await see(page.getByRole('application').first())
  for (const width of [1440, 1024, 768, 390]) {
    await page.setViewportSize({ width, height: 900 })
    const bar = page.getByRole('tablist')
    const sizes = await bar.evaluate((list) => ({
      hasScrollbar: list.getBoundingClientRect().height > list.clientHeight,
      scrolls: list.scrollHeight > list.clientHeight,
    }))
    expect(sizes, `tab bar at ${width} pixels`).toEqual({ hasScrollbar: false, scrolls: false })
    expect(await findTouchingLabels(page), `labels at ${width} pixels`).toEqual([])
  }
})

test('at 390 pixels, the samples of the API tab keep the padding of their section', async () => {
  const { page } = await site.visit({ viewport: { width: 390, height: 844 } })
  await registerByApi(page, createPerson())
  const id = await deployByApi(page, 'berth-tiny-embedding')
  await page.goto(`/deployments/${id}?tab=use`)
  const code = page.getByLabel('curl code', { exact: true })
  await see(code)
  const section = page.locator('section').filter({ has: code })
  const outer = (await section.boundingBox())!
  for (const part of [code, ...(await section.getByRole('radiogroup').all())]) {
    const inner = (await part.boundingBox())!
    expect(inner.x + inner.width).toBeLessThanOrEqual(outer.x + outer.width - (inner.x - outer.x) + 1)
  }
  await page.request.delete(`/api/v1/model-deployments/${id}`)
})

test('a dialog over a scrolled page leaves the sidebar in place', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  await page.goto('/billing')
  const add = page.getByRole('button', { name: 'Add budget' })
  await see(add)
  await page.setViewportSize({ width: 1280, height: 500 })
  await page.evaluate(() => window.scrollTo(0, 200))
  await expect.poll(() => page.evaluate(() => window.scrollY)).toBeGreaterThan(100)
  await add.click()
  await see(page.getByRole('dialog'))
  expect((await page.locator('aside').boundingBox())!.y).toBe(0)
})

const widthOf = async (locator: Locator) => (await locator.boundingBox())?.width ?? 0

test('at 1024 pixels, what is read is wider than what is looked up, and titles stay in place between pages', async () => {
  const { page } = await site.visit({ viewport: { width: 1024, height: 768 } })
  await registerByApi(page, createPerson())
  const id = await deployByApi(page)
  await page.goto(`/deployments/${id}`)
  await see(page.getByText(/^ready for /))
  // How to call it comes before what is looked up.
  const headings = page.getByRole('tabpanel').getByRole('heading', { level: 2 })
  const order = ['Call it', 'Last hour', 'Instances', 'Details']
  await expect.poll(() => headings.allInnerTexts()).toEqual(order)
  expect(await page.title()).toContain('(Running)')
  // The explanation is closed until somebody wants it.
  expect(await page.getByText(/Needs at least/).isVisible()).toBe(false)

  await page.goto('/catalog')
  await see(page.getByText('$0.036/hour').first())
  expect(await widthOf(page.getByText(/^Hybrid models that think step by step/))).toBeGreaterThan(380)

  await page.setViewportSize({ width: 1800, height: 900 })
  const { x } = (await heading(page, 'Catalog').boundingBox())!
  await page.goto('/organization?invite=yes')
  await see(page.getByRole('dialog'))
  expect((await page.locator('h1').boundingBox())!.x).toBe(x)
  await page.keyboard.press('Escape')
  await seeGone(page.getByRole('dialog'))
  expect((await page.locator('h1').boundingBox())!.x).toBe(x)
  await page.goto('/catalog')

  await page.getByRole('link', { name: 'Qwen3', exact: true }).click()
  await page.getByRole('button', { name: 'Deploy', exact: true }).first().click()
  const formats = page.getByRole('dialog').getByLabel('Format')
  await see(formats)
  await expect.poll(() => formats.innerText()).toContain('PyTorch (needs other hardware)')
  expect(await formats.getByRole('option', { name: /PyTorch/ }).isDisabled()).toBe(true)
})
