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
  await page.getByRole('combobox', { name: 'Status' }).selectOption('Terminated')
  await see(rowOf(other))
  await seeGone(rowOf(named))
  await page.getByRole('combobox', { name: 'Status' }).selectOption('Any status')
  await see(rowOf(named))
  await seeGone(rowOf(other))
  await callByApi(page.request, 'DELETE', `${path}/${named}`)
})
