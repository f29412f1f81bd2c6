import { expect, test } from 'vitest'
import { useConsole } from './support/console.ts'
import { startConsoleTestServer } from './support/test-server.ts'
import {
  callByApi,
  createPerson,
  deployByApi,
  joinByApi,
  registerByApi,
  see,
  seeGone,
  waitForStatus,
} from './support/steps.ts'

const site = useConsole(startConsoleTestServer)

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

test('the owner filter searches the people, stands in the address, and names the owner without rows too', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  const grace = (await site.visit()).page
  const graceId = await joinByApi(page, grace, 'member', 'Grace Hopper')
  await joinByApi(page, (await site.visit()).page, 'viewer', 'Alan Turing')
  const own = await deployByApi(page)
  const hers = await deployByApi(grace)
  const rowOf = (id: string) => page.locator(`a[href*="${id}"]`)
  await page.goto('/deployments?whose=team')
  await see(rowOf(own))
  await see(rowOf(hers))
  await page.getByRole('button', { name: 'Any owner' }).click()
  const panel = page.getByRole('dialog', { name: 'Owner' })
  const field = panel.getByRole('combobox')
  await expect.poll(() => field.evaluate((node) => node === document.activeElement)).toBe(true)
  await page.keyboard.press('Escape')
  await seeGone(panel)
  await page.keyboard.press('Enter')
  await see(panel.getByRole('option', { name: /^Alan Turing/ }))
  await page.keyboard.type('hopper')
  await expect.poll(() => panel.getByRole('option').count()).toBe(1)
  await page.keyboard.press('Enter')
  await seeGone(rowOf(own))
  await see(rowOf(hers))
  await page.waitForURL(`**/deployments?whose=team&owner=${graceId}`)
  await page.reload()
  await see(page.getByRole('button', { name: 'Owner: Grace Hopper' }))
  await page.getByRole('searchbox').fill('nothing like it')
  await see(page.getByRole('heading', { name: 'No deployment matches' }))
  await see(page.getByRole('button', { name: 'Owner: Grace Hopper' }))
  await page.getByRole('searchbox').fill('')
  await see(rowOf(hers))
  await page.getByRole('button', { name: 'Clear the owner' }).click()
  await see(rowOf(own))
  for (const [person, id] of [
    [page, own],
    [grace, hers],
  ] as const) {
    await callByApi(person.request, 'DELETE', `/api/v1/model-deployments/${id}`)
  }
})

test('the strip tells what the organization runs and pays, and speaks of no money where nobody pays', async () => {
  const { page, allowPageErrors } = await site.visit()
  // The page asks while the server starts with other settings.
  allowPageErrors(/net::ERR_/)
  await registerByApi(page, createPerson())
  const id = await deployByApi(page)
  const path = `/api/v1/model-deployments/${id}`
  await callByApi(page.request, 'PATCH', path, { max_instances: 3 })
  await page.goto('/deployments')
  const strip = page.getByRole('list', { name: 'Analytical Engines' })
  const items = () => strip.getByRole('listitem').allInnerTexts()
  await expect
    .poll(items)
    .toEqual([
      'Analytical Engines',
      '1 running',
      '$0.036/hour now',
      expect.stringMatching(/^\$[\d.]+ this period$/),
      expect.stringMatching(/^1 deployment, up to 3 of [\d,]+ instances$/),
    ])
  await site.server.stop()
  await site.server.start({ BILLING: 'off' })
  await page.reload()
  await expect.poll(items).toEqual(['Analytical Engines', '1 running', '1 deployment, up to 3 instances'])
  await site.server.stop()
  await site.server.start()
  await callByApi(page.request, 'DELETE', path)
})

test('several deployments are put to sleep, woken and terminated; a dialog names them, and each has its result', async () => {
  const { page, allowPageErrors } = await site.visit()
  allowPageErrors(/status of 409/)
  await registerByApi(page, createPerson())
  const path = '/api/v1/model-deployments'
  const ids = [
    await deployByApi(page),
    await deployByApi(page),
    await deployByApi(page, 'berth-tiny-embedding'),
  ]
  for (const [index, alias] of ['one', 'two', 'three'].entries()) {
    await callByApi(page.request, 'PATCH', `${path}/${ids[index]}`, { alias })
  }
  await callByApi(page.request, 'PATCH', `${path}/${ids[0]}`, { shared_with: 'organization' })
  const body = { model: 'one', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 4 }
  await callByApi(page.request, 'POST', '/v1/chat/completions', body)
  const statusOf = async (id: string) =>
    (await callByApi<{ status: string }>(page.request, 'GET', `${path}/${id}`)).status

  await page.goto('/deployments')
  const bar = page.getByRole('region', { name: 'Selected deployments' })
  const dialog = page.getByRole('dialog')
  const affected = dialog.getByRole('list', { name: 'Affected deployments' }).getByRole('listitem')
  const press = (name: string) => dialog.getByRole('button', { name, exact: true }).click()
  await page.getByRole('checkbox', { name: 'Select one' }).check()
  await see(bar.getByText('1 selected'))
  await page.getByRole('checkbox', { name: 'Select two' }).check()
  await bar.getByRole('button', { name: 'Sleep 2' }).click()
  await see(dialog.getByRole('heading', { name: 'Put 2 deployments to sleep?' }))
  await see(affected.filter({ hasText: /^one.*Shared with Analytical Engines/s }))
  await see(affected.filter({ hasText: /^two.*Only its owner calls it/s }))
  await see(affected.filter({ hasText: /used/ }).first())

  // One of them ends while the dialog is open: its result tells so, and the other one sleeps.
  await callByApi(page.request, 'DELETE', `${path}/${ids[1]}`)
  await waitForStatus(page.request, ids[1]!, 'terminated')
  await press('Sleep 2')
  await see(dialog.getByText('1 done, 1 failed.'))
  await see(affected.filter({ hasText: 'one' }).getByText('Falls asleep'))
  await see(affected.filter({ hasText: 'two' }).getByRole('alert'))
  await press('Done')
  await waitForStatus(page.request, ids[0]!, 'sleeping')
  await seeGone(page.getByRole('checkbox', { name: 'Select two' }))

  await page.getByRole('checkbox', { name: 'Select all' }).check()
  await see(bar.getByText('2 selected'))
  await bar.getByRole('button', { name: 'Wake 1' }).click()
  await see(dialog.getByText('three: is awake already'))
  await press('Wake 1')
  await see(dialog.getByText('It is done.'))
  await press('Done')
  await waitForStatus(page.request, ids[0]!, 'running')

  await page.getByRole('checkbox', { name: 'Select all' }).check()
  await bar.getByRole('button', { name: 'Terminate 2' }).click()
  await see(dialog.getByText(/berth rm/))
  await press('Terminate 2')
  await see(dialog.getByText('All 2 are done.'))
  // The results stay after the rows have left.
  expect(await affected.count()).toBe(2)
  for (const id of [ids[0]!, ids[2]!]) await waitForStatus(page.request, id, 'terminated')
  expect(await statusOf(ids[2]!)).toBe('terminated')
  await see(affected.first())
  await press('Done')
  await seeGone(bar)
})

test('of selected deployments, only those that the role allows are terminated; who may do nothing selects nothing', async () => {
  const { page: owner } = await site.visit()
  await registerByApi(owner, createPerson())
  const { page } = await site.visit()
  await joinByApi(owner, page, 'member', 'Grace Hopper')
  const path = '/api/v1/model-deployments'
  const shared = await deployByApi(owner)
  await callByApi(owner.request, 'PATCH', `${path}/${shared}`, {
    alias: 'shared',
    shared_with: 'organization',
  })
  const own = await deployByApi(page)
  await callByApi(page.request, 'PATCH', `${path}/${own}`, { alias: 'own' })
  await page.goto('/deployments')
  await page.getByRole('checkbox', { name: 'Select all' }).check()
  await page.getByRole('button', { name: 'Terminate 1' }).click()
  const dialog = page.getByRole('dialog')
  await see(dialog.getByText('shared: your role does not allow it'))
  await dialog.getByRole('button', { name: 'Terminate 1' }).click()
  await see(dialog.getByText('It is done.'))
  await dialog.getByRole('button', { name: 'Done' }).click()
  await waitForStatus(page.request, own, 'terminated')
  await waitForStatus(owner.request, shared, 'running')
  await page.goto('/deployments?whose=team')
  await see(page.locator(`a[href*="${shared}"]`))
  expect(await page.getByRole('checkbox').count()).toBe(0)
  await callByApi(owner.request, 'DELETE', `${path}/${shared}`)
})
