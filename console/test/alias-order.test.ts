import { expect, test } from 'vitest'
import { useConsole } from './support/console.ts'
import { startConsoleTestServer } from './support/test-server.ts'
import { callByApi, createPerson, deployByApi, registerByApi, see } from './support/steps.ts'

const site = useConsole(startConsoleTestServer)

test('the settings give a deployment a place in the order of its name, and show the others', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  const other = await deployByApi(page)
  const path = '/api/v1/model-deployments'
  await callByApi(page.request, 'PATCH', `${path}/${other}`, { alias: 'assistant', alias_order: 1 })
  const id = await deployByApi(page)
  await page.goto(`/deployments/${id}?tab=settings`)
  const order = page.getByLabel('Order (optional)')
  expect(await order.count(), 'without a name').toBe(0)
  await page.getByLabel('Name (optional)').fill('assistant')
  await see(
    page.getByText('Requests by this name go to berth-tiny (order 1), then berth-tiny (this one, no order).'),
  )
  await order.fill('none')
  await see(page.getByText('Enter a whole number from 1 to 1,000.'))
  expect(await page.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true)
  await order.fill('2')
  await see(
    page.getByText('Requests by this name go to berth-tiny (order 1), then berth-tiny (this one, order 2).'),
  )
  await page.getByRole('button', { name: 'Save' }).click()
  const read = () => callByApi<{ alias_order: number | null }>(page.request, 'GET', `${path}/${id}`)
  await expect.poll(async () => (await read()).alias_order).toBe(2)
  await see(page.getByRole('heading', { level: 1, name: 'assistant' }))
})
