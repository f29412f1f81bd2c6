import { createServer } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import { listen } from '../../server/test/support/listen.ts'
import { useConsole } from './support/console.ts'
import { createPerson, registerByApi, see, seeGone } from './support/steps.ts'
import { startConsoleTestServer } from './support/test-server.ts'

const site = useConsole(() =>
  startConsoleTestServer({ RUNTIME: 'endpoints', ENDPOINT_NETWORKS: '127.0.0.0/8' }),
)

const dialog = (page: Page) => page.getByRole('dialog')
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()

const asked: string[] = []
const server = createServer((request, response) => {
  asked.push(request.url!)
  const list = { data: [{ id: 'llama' }, { id: 'my-embedder' }] }
  const usage = { prompt_tokens: 3, completion_tokens: 1 }
  const isKnown = request.headers.authorization === 'Bearer sk-right'
  const body = request.url === '/v1/models' ? list : { model: 'llama-2026', choices: [{}], usage }
  response.writeHead(isKnown ? 200 : 401, { 'content-type': 'application/json' }).end(JSON.stringify(body))
})
let url: string
beforeAll(async () => {
  url = `http://127.0.0.1:${await listen(server)}`
})
afterAll(() => server.close().closeAllConnections())

async function add(page: Page, values: Record<string, string>): Promise<void> {
  await press(page, 'Add an endpoint')
  for (const [label, value] of Object.entries(values)) await dialog(page).getByLabel(label).fill(value)
  await dialog(page).getByRole('button', { name: 'Add an endpoint' }).click()
}

test('an admin adds an endpoint, sees what answered, checks it again and deletes it', async () => {
  const { page, allowPageErrors } = await site.visit()
  allowPageErrors(/status of 422/)
  await registerByApi(page, createPerson())
  await page.goto('/organization?tab=endpoints')
  await see(page.getByText('No endpoints yet'))
  await add(page, { Name: 'Lab', Address: 'https://10.0.0.1/v1', Key: 'sk-right' })
  await see(dialog(page).getByText(/Must be a public https address/))
  await dialog(page).getByLabel('Address').fill(`${url}/v1`)
  await dialog(page).getByLabel('Input price').fill('0.25')
  await dialog(page).getByLabel('Output price').fill('2')
  await dialog(page).getByRole('button', { name: 'Add an endpoint' }).click()
  await see(dialog(page).getByText('2 models'))
  expect(asked, 'a new endpoint is checked once').toEqual(['/v1/models', '/v1/chat/completions'])
  await press(page, 'Check')
  await see(dialog(page).getByText(/^llama-2026 in \d+ ms$/))
  await see(dialog(page).getByText('3 in, 1 out'))
  await press(page, 'Done')
  await seeGone(dialog(page))
  await see(page.getByText('2 models'))
  await see(page.getByText(url))

  await add(page, { Name: 'Wrong', Address: url, Key: 'sk-wrong' })
  await see(dialog(page).getByText('/v1/models answered 401. Check the key.'))
  await press(page, 'Done')
  await press(page, 'Actions for Wrong')
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await dialog(page).getByRole('button', { name: 'Delete' }).click()
  await seeGone(dialog(page))
  const { items } = await (await page.request.get('/api/v1/endpoints')).json()
  expect(items).toMatchObject([{ name: 'Lab', has_key: true, prices: { input: '0.25', output: '2' } }])
})

test('a model of an endpoint shows what its tokens cost, and is deployed without scaling and sleep', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  const prices = { input: '0.25', output: '2' }
  const data = { name: 'Lab', base_url: url, key: 'sk-right', prices }
  expect((await page.request.post('/api/v1/endpoints', { data })).status()).toBe(201)
  await page.goto('/catalog?provider=Lab')
  await see(page.getByText('$0.25 in, $2.00 out').first())
  await page.getByRole('link', { name: 'llama', exact: true }).click()
  await press(page, 'Deploy')
  await see(dialog(page).getByText('$0.25 in, $2.00 out').first())
  await see(dialog(page).getByText('For a million tokens'))
  expect(await dialog(page).getByRole('switch').count(), 'it may be shared, and never sleeps').toBe(1)
  await dialog(page).getByRole('button', { name: 'Deploy', exact: true }).click()
  await see(page.getByText(/The endpoint serves the model/))
  await see(page.getByText('$0.25 in, $2.00 out').first())
  expect(await page.getByRole('button', { name: /sleep/i }).count()).toBe(0)
  await page.getByRole('tab', { name: 'Settings' }).click()
  await see(page.getByText('Sharing'))
  expect(await page.getByText('Scaling and sleep').count()).toBe(0)

  await page.goto('/organization?tab=settings')
  const allowed = page.getByRole('switch', { name: 'Prompts may leave this server' })
  await see(allowed)
  await allowed.click()
  await expect
    .poll(async () => (await (await page.request.get('/v1/organization')).json()).allow_external)
    .toBe(false)
})
