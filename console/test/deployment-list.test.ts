import { expect, test } from 'vitest'
import { useConsole } from './support/console.ts'
import { startConsoleServer } from './support/server.ts'
import {
  callByApi,
  createPerson,
  deployByApi,
  registerByApi,
  see,
  seeGone,
  waitForStatus,
} from './support/steps.ts'

const site = useConsole(startConsoleServer)

test('deployments are found by name, id and status, and the address keeps the search', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  const named = await deployByApi(page)
  const path = '/api/v1/model-deployments'
  await callByApi(page.request, 'PATCH', `${path}/${named}`, { alias: 'team-chat' })
  const other = await deployByApi(page, 'berth-tiny-embedding')
  await page.goto('/deployments')
  const rowOf = (id: string) => page.locator(`a[href*="${id}"]`)
  await see(rowOf(named))
  await see(rowOf(other))

  const search = page.getByRole('searchbox', { name: 'Search name, owner or id' })
  await search.fill('TEAM')
  await seeGone(rowOf(other))
  await see(rowOf(named))
  await page.waitForURL(/q=TEAM/)
  await page.reload()
  await see(rowOf(named))
  expect(await search.inputValue()).toBe('TEAM')
  await search.fill(other.slice(0, 20))
  await see(rowOf(other))
  await search.fill('nothing like it')
  await see(page.getByRole('heading', { name: 'No deployment matches' }))
  await page.getByRole('link', { name: 'Clear filters' }).click()
  await see(rowOf(named))
  expect(await search.inputValue()).toBe('')

  await callByApi(page.request, 'DELETE', `${path}/${other}`)
  await waitForStatus(page.request, other, 'terminated')
  await page.getByRole('radio', { name: 'All' }).click()
  const terminated = page.getByRole('button', { name: 'Terminated 1' })
  await terminated.click()
  await see(rowOf(other))
  await seeGone(rowOf(named))
  await page.waitForURL(/status=terminated/)
  await terminated.click()
  await see(rowOf(named))
  await page.getByRole('combobox', { name: 'Sort' }).selectOption('By name')
  await page.waitForURL(/sort=name/)
  const links = page.getByRole('row').getByRole('link')
  await expect.poll(() => links.allInnerTexts()).toEqual(['berth-tiny-embedding', 'team-chat'])
  await page.getByRole('combobox', { name: 'Sort' }).selectOption('Newest first')
  await page.getByRole('radio', { name: 'Current' }).click()
  await seeGone(rowOf(other))
  await callByApi(page.request, 'DELETE', `${path}/${named}`)
})

test('the palette finds any deployment through the server, in the middle of its name too, and recent things first', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  const id = await deployByApi(page)
  await callByApi(page.request, 'PATCH', `/api/v1/model-deployments/${id}`, { alias: 'nightly-sums' })
  await page.goto('/usage')
  const palette = page.getByRole('dialog', { name: 'Search or jump to…' })
  const open = async () => {
    // The heading is there before the code that listens for keys.
    await see(page.getByLabel('Group by'))
    await page.keyboard.press('Control+k')
    await see(palette.getByRole('option').first())
  }
  await open()
  expect(await palette.getByText('Recent', { exact: true }).count()).toBe(0)
  await page.keyboard.type('ightly')
  await palette.getByRole('option', { name: /^nightly-sums Running/ }).click()
  await page.waitForURL(`**/deployments/${id}`)
  await page.goto('/usage')
  await open()
  await see(palette.getByText('Recent', { exact: true }))
  expect(await palette.getByRole('option').first().innerText()).toContain('nightly-sums')
  for (const [words, label] of [
    ['context', 'nightly-sums: Context and parallel requests'],
    ['sleep', 'nightly-sums: Sleep'],
    ['share', 'nightly-sums: Share'],
    ['budget', 'Budgets'],
    ['log out', 'Sign out'],
  ] as const) {
    await palette.getByRole('combobox').fill(words)
    await see(palette.getByRole('option', { name: label, exact: true }))
  }
  await callByApi(page.request, 'DELETE', `/api/v1/model-deployments/${id}`)
})
