import { expect, test } from 'vitest'
import { useConsole } from './support/console.ts'
import { startConsoleTestServer } from './support/test-server.ts'
import { callByApi, createPerson, deployByApi, registerByApi, see, seeGone } from './support/steps.ts'

const site = useConsole(startConsoleTestServer)

test('activity shows who changed what, and fills earlier settings in to be reviewed and saved', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  const id = await deployByApi(page)
  const path = `/api/v1/model-deployments/${id}`
  await page.goto(`/deployments/${id}?tab=settings`)
  const name = page.getByLabel('Name (optional)')
  await name.fill('two words')
  await see(page.getByText(/^Use up to 128 letters/))
  await name.fill('assistant')
  await page.getByRole('button', { name: 'Save' }).click()
  await see(page.getByRole('heading', { level: 1, name: 'assistant' }))
  await callByApi(page.request, 'PATCH', path, { idle_minutes: 20, max_instances: 2 })
  await callByApi(page.request, 'PATCH', path, { idle_minutes: 45 })

  await page.getByRole('tab', { name: 'Activity' }).click()
  const list = page.getByRole('list', { name: 'Activity' })
  await expect
    .poll(() => list.getByRole('heading').allInnerTexts())
    .toEqual([
      'Settings changed by Ada Lovelace',
      'Settings changed by Ada Lovelace',
      'Settings changed by Ada Lovelace',
      'Running',
      'Requested',
    ])
  await see(list.getByText('20 → 45'))
  await see(list.getByText('none → assistant'))
  await list
    .getByRole('link', { name: /^Restore these settings, before/ })
    .nth(1)
    .click()
  const restored = page.getByRole('region', { name: 'Restore these settings' })
  await see(restored.getByRole('row', { name: 'Sleep after (minutes) 45 none' }))
  await see(restored.getByRole('row', { name: 'At most (instances) 2 1' }))
  await page.getByRole('button', { name: 'Save' }).first().click()
  await seeGone(restored)
  expect(await callByApi(page.request, 'GET', path)).toMatchObject({
    alias: 'assistant',
    policy: { idle_minutes: null, max_instances: 1 },
  })
  await page.goBack()
  await expect.poll(() => page.getByRole('tab', { selected: true }).innerText()).toBe('Activity')
  await page.request.delete(path)
})
