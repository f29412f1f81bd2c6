import { expect, test } from 'vitest'
import { useConsole } from './support/console.ts'
import { startConsoleServer } from './support/server.ts'
import { createPerson, joinByApi, registerByApi, see, seeGone } from './support/steps.ts'

const site = useConsole(startConsoleServer)

test('an admin finds a colleague by name, sees who was active when, and others see no dates', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  const grace = (await site.visit()).page
  await joinByApi(page, grace, 'viewer', 'Grace Hopper')
  const alan = (await site.visit()).page
  await joinByApi(page, alan, 'viewer', 'Alan Turing')

  await page.goto('/organization')
  const rowOf = (name: string) => page.getByRole('row').filter({ hasText: name })
  await see(rowOf('Alan Turing'))
  await see(rowOf('Grace Hopper'))
  await see(page.getByRole('columnheader', { name: 'Last active' }))
  await page.getByRole('searchbox', { name: 'Search name or email' }).fill('GRACE')
  await seeGone(rowOf('Alan Turing'))
  await see(rowOf('Grace Hopper'))
  await page.waitForURL(/q=GRACE/)
  await page.reload()
  await see(rowOf('Grace Hopper'))
  expect(await rowOf('Alan Turing').count()).toBe(0)
  await page.getByRole('searchbox', { name: 'Search name or email' }).fill('nobody at all')
  await see(page.getByText('Nobody in this organization has that name or email.'))

  await grace.goto('/organization')
  await see(grace.getByRole('row').filter({ hasText: 'Alan Turing' }))
  expect(await grace.getByRole('columnheader', { name: 'Last active' }).count()).toBe(0)
})
