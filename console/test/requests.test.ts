import { expect, test } from 'vitest'
import { useConsole } from './support/console.ts'
import { startConsoleTestServer } from './support/test-server.ts'
import { callByApi, createPerson, deployByApi, heading, registerByApi, see } from './support/steps.ts'

const site = useConsole(startConsoleTestServer)

test('people find their refused and served requests; filters are in the address', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  await page.goto('/usage/requests')
  await see(heading(page, 'No requests'))
  const id = await deployByApi(page)
  const ask = (model: string) =>
    page.request.post('/v1/chat/completions', {
      data: { model, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 2 },
    })
  expect((await ask(id)).status()).toBe(200)
  expect((await ask('no-such-model')).status()).toBe(404)
  const listed = async () =>
    (await callByApi<{ items: unknown[] }>(page.request, 'GET', '/v1/requests')).items.length
  await expect.poll(listed).toBe(2)

  await page.goto('/usage')
  await page.getByRole('link', { name: 'Your requests' }).click()
  const table = page.getByRole('region', { name: 'Requests' })
  await see(table.getByText('no-such-model'))
  await see(table.getByRole('link', { name: 'berth-tiny' }))
  await page.getByLabel('Status').selectOption('Refused (4xx)')
  await expect.poll(() => table.getByRole('row').count()).toBe(2)
  expect(new URL(page.url()).search).toBe('?status=4xx')
  await page.reload()
  await see(table.getByText('no-such-model'))
  expect(await table.getByRole('link', { name: 'berth-tiny' }).count()).toBe(0)
  await page.getByLabel('Model').fill('other')
  await page.getByLabel('Model').press('Enter')
  await see(heading(page, 'No requests match these filters'))

  await page.goto(`/usage/requests?deployment=${id}`)
  await see(heading(page, 'Requests to a deployment'))
  await see(page.getByRole('region', { name: 'Requests to a deployment' }).getByText('Ada Lovelace'))
})
