import { expect, test } from 'vitest'
import { useConsole } from './support/console.ts'
import { measureFirstView } from './support/first-view.ts'
import { startConsoleServer } from './support/server.ts'
import { deployByApi, createPerson, heading, registerByApi, see } from './support/steps.ts'

const site = useConsole(startConsoleServer)

test('the first view loads at most 150 KB of compressed JavaScript', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  await deployByApi(page)
  const scripts = await measureFirstView(page)
  const sum = scripts.reduce((bytes, script) => bytes + script.bytes, 0)
  expect(sum, scripts.map(({ path, bytes }) => `${path} ${bytes}`).join('\n')).toBeLessThan(150_000)
  expect(scripts.length).toBeGreaterThan(0)
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
})

test('the code of the usage chart loads only when the chart comes into view', async () => {
  const { page } = await site.visit({ viewport: { width: 390, height: 300 } })
  await registerByApi(page, createPerson())
  const id = await deployByApi(page)
  const loaded: string[] = []
  page.on('request', (request) => loaded.push(new URL(request.url()).pathname))
  await page.goto('/usage')
  await see(heading(page, 'Usage by day'))
  await see(page.getByText('So far', { exact: false }))
  await page.waitForLoadState('networkidle')
  const hasChart = () => loaded.some((path) => path.includes('daily-chart'))
  expect(hasChart()).toBe(false)
  await page.getByRole('radio', { name: 'Cost' }).scrollIntoViewIfNeeded()
  await page.mouse.wheel(0, 600)
  await expect.poll(hasChart).toBe(true)
  await page.request.delete(`/api/v1/model-deployments/${id}`)
})
