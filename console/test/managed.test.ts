import { expect, test } from 'vitest'
import { useConsole } from './support/console.ts'
import { startConsoleTestServer } from './support/test-server.ts'
import { callByApi, createPerson, deployByApi, registerByApi, see } from './support/steps.ts'

const site = useConsole(startConsoleTestServer)

test('a deployment says what file manages it; its settings and their dialogs warn that the file overwrites a change', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  const id = await deployByApi(page)
  const warning = 'The next “berth apply” of platform overwrites changes.'
  await page.goto(`/deployments/${id}?tab=settings`)
  await see(page.getByRole('heading', { name: 'Scaling and sleep' }))
  expect(await page.getByText(warning).count()).toBe(0)

  const body = { managed_by: 'platform' }
  await callByApi(page.request, 'PATCH', `/api/v1/model-deployments/${id}`, body)
  await page.reload()
  await see(page.getByText('Managed by platform'))
  await see(page.getByText(warning))
  for (const name of ['Share', 'Edit scaling and sleep', 'Change context']) {
    await page.getByRole('button', { name, exact: true }).first().click()
    const dialog = page.getByRole('dialog')
    await see(dialog.getByText(warning))
    await dialog.getByRole('button', { name: 'Cancel' }).click()
  }
})

test('the dialogs that end deployments warn that a file deploys them again', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  const ids = [await deployByApi(page), await deployByApi(page), await deployByApi(page)]
  const warning = /The next “berth apply” of/
  const openDialog = async () => {
    await page.goto(`/deployments/${ids[0]}?terminate=yes`)
    await see(page.getByRole('dialog').getByText(ids[0]!))
  }
  await openDialog()
  expect(await page.getByText(warning).count()).toBe(0)
  for (const [index, managed_by] of ['platform', 'web'].entries())
    await callByApi(page.request, 'PATCH', `/api/v1/model-deployments/${ids[index]}`, { managed_by })
  await openDialog()
  await see(page.getByText('The next “berth apply” of platform deploys what its file still has.'))

  await page.goto('/deployments')
  await page.getByRole('checkbox', { name: 'Select all' }).check()
  await page.getByRole('button', { name: 'Terminate 3', exact: true }).click()
  await see(
    page
      .getByRole('dialog')
      .getByText(
        /The next “berth apply” of (platform or web|web or platform) deploys what its file still has\./,
      ),
  )
})
