import { expect, test } from 'vitest'
import { useConsole } from './support/console.ts'
import { startConsoleTestServer } from './support/test-server.ts'
import { createPerson, deployByApi, registerByApi, see, seeGone } from './support/steps.ts'

const site = useConsole(startConsoleTestServer)

test('a person measures a deployment, sees each step, and stops the next one', async () => {
  const { page, allowPageErrors } = await site.visit()
  await registerByApi(page, createPerson())
  const id = await deployByApi(page)
  await page.goto(`/deployments/${id}?tab=metrics`)
  const section = page.locator('#benchmark')
  await see(section.getByText('None yet.'))
  await section.getByRole('button', { name: 'Measure' }).click()
  const dialog = page.getByRole('dialog', { name: 'Measure this deployment' })
  await dialog.getByLabel('Tokens of each prompt').fill('16')
  await dialog.getByLabel('Tokens of each response').fill('8')
  const concurrency = dialog.getByLabel('Requests at the same time, step by step')
  await concurrency.fill('1, 999')
  await dialog.getByLabel('Seconds of each step').fill('1')
  allowPageErrors(/422/)
  await dialog.getByRole('button', { name: 'Measure' }).click()
  await see(dialog.getByText(/256/))
  await concurrency.fill('1, 2')
  await dialog.getByRole('button', { name: 'Measure' }).click()
  await seeGone(dialog)
  await see(section.getByText('Finished'))
  const rows = section.getByRole('table').getByRole('row')
  await expect.poll(() => rows.count()).toBe(3)
  expect(await rows.nth(2).getByRole('cell').first().innerText()).toBe('2')

  await section.getByRole('button', { name: 'Measure' }).click()
  await dialog.getByLabel('Seconds of each step').fill('60')
  await dialog.getByRole('button', { name: 'Measure' }).click()
  await section.getByRole('button', { name: 'Stop' }).click()
  await see(section.getByText('Stopped'))
  await section.getByText('Earlier benchmarks').click()
  await see(section.getByText('Finished'))
  await page.request.delete(`/api/v1/model-deployments/${id}`)
})
