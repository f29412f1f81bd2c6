import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { useConsole } from './support/console.ts'
import { startConsoleTestServer } from './support/test-server.ts'
import {
  callByApi,
  createPerson,
  deployByApi,
  enterCard,
  heading,
  joinByApi,
  register,
  registerByApi,
  see,
  seeGone,
  waitForStatus,
} from './support/steps.ts'

const site = useConsole(startConsoleTestServer)

test('a double click registers once, and spaces around a pasted email address are ignored', async () => {
  const { page } = await site.visit()
  const person = createPerson()
  const sent: string[] = []
  page.on('request', (request) => request.method() === 'POST' && sent.push(new URL(request.url()).pathname))
  await page.goto('/register')
  await page.getByLabel('Your name').fill(person.name)
  await page.getByLabel('Email').focus()
  await page.keyboard.insertText(`  ${person.email} `)
  await page.getByLabel('Password', { exact: true }).fill(person.password)
  await page.getByLabel('Organization').fill(person.organization)
  await page.getByRole('button', { name: 'Create account' }).dblclick()
  await see(heading(page, 'Deploy your first model'))
  await see(page.getByText(person.email, { exact: true }))
  expect(sent).toEqual(['/v1/user/register'])
})

test('a common password brings a warning, and registers all the same', async () => {
  const { page } = await site.visit()
  const person = createPerson()
  await page.goto('/register')
  await page.getByLabel('Your name').fill(person.name)
  await page.getByLabel('Email').fill(person.email)
  const password = page.getByLabel('Password', { exact: true })
  await password.fill('Password1')
  await see(page.getByText('This is one of the most common passwords'))
  await password.fill('three random words')
  await see(page.getByText('At least 8 characters.'))
  await password.fill('Password1')
  await see(page.getByText('This is one of the most common passwords'))
  await page.getByLabel('Organization').fill(person.organization)
  await page.getByRole('button', { name: 'Create account' }).click()
  await see(heading(page, 'Deploy your first model'))
})

test('copying works without TLS, where browsers have no navigator.clipboard', async () => {
  const { page } = await site.visit()
  await page.addInitScript(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }))
  await registerByApi(page, createPerson())
  await page.goto('/catalog/berth-tiny')
  // The label changes for a moment after copying.
  const copy = page.getByRole('button', { name: /^(Copy Model ID|Copied)$/ })
  await copy.focus()
  await page.keyboard.press('Enter')
  expect(await copy.evaluate((node) => node === document.activeElement)).toBe(true)

  await page.goto('/catalog')
  const search = page.getByRole('searchbox', { name: 'Search models' })
  await search.focus()
  await page.keyboard.press('Control+v')
  expect(await search.inputValue()).toBe('berth-tiny')
})

test('on a default install, adding a card keeps the session, from the printed address and from its other name', async () => {
  const printed = new URL(site.server.url)
  const other = new URL(printed)
  other.hostname = printed.hostname === 'localhost' ? '127.0.0.1' : 'localhost'
  for (const { href } of [printed, other]) {
    const { page } = await site.visit({ baseURL: href })
    const person = createPerson()
    await register(page, person)
    await page.getByRole('link', { name: 'Billing', exact: true }).click()
    await page.getByRole('button', { name: 'Add a card' }).click()
    await enterCard(page)
    await see(page.getByText(/^Saved /))
    await see(page.getByRole('listitem').filter({ hasText: '4242' }))
    await see(page.getByText(person.email, { exact: true }))
  }
})

test('before activating billing, a person sees what changes', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  await page.goto('/billing')
  await page.getByRole('button', { name: 'Activate billing' }).click()
  const rows = page.getByRole('dialog').getByRole('row')
  await see(rows.filter({ hasText: /^Instances at a time\s*1,000\s*20$/ }))
  await see(rows.filter({ hasText: 'At the end of each month' }))
})

test('the filters of the audit log and of the catalog are in the address', async () => {
  const { page } = await site.visit()
  await register(page, createPerson())
  await page.goto('/organization?tab=audit')
  const created = page.getByRole('button', { name: 'Created an account' })
  await see(created)
  await page.getByLabel('Action').selectOption({ label: 'Invited' })
  await see(heading(page, 'Nothing matches'))
  await page.reload()
  await see(heading(page, 'Nothing matches'))
  await page.getByLabel('Action').selectOption({ label: 'Every action' })
  await page.getByLabel('From').fill('2020-01-31')
  await see(created)
  expect(new URL(page.url()).search).toBe('?tab=audit&from=2020-01-31')

  await page.goto('/catalog')
  const first = page.getByRole('main').getByRole('listitem').first()
  await page.getByLabel('Sort by').selectOption({ label: 'Smallest first' })
  await see(first.getByRole('link', { name: 'Berth Tiny Embedding' }))
  await page.getByLabel('License').selectOption('gemma')
  await page.getByLabel('Context', { exact: true }).selectOption({ label: '128K or more' })
  await see(first.getByText(/ · gemma · 128K context/))
  await page.reload()
  await see(first.getByText(/ · gemma · 128K context/))
  expect(new URL(page.url()).search).toBe('?sort=size&license=gemma&context=128k')
})

test('the audit log is in words: names, plans and browsers', async () => {
  const { page } = await site.visit()
  const person = createPerson()
  await register(page, person)
  await page.goto('/organization?tab=audit')
  const row = page.getByRole('row').filter({ hasText: 'Created an account' })
  await see(row.getByText('Role: Owner'))
  await see(row.getByText('Ada Lovelace'))
  await see(row.getByText('Chrome on Linux'))

  // The row opens with the keyboard.
  const open = row.getByRole('button', { name: 'Created an account' })
  expect(await open.getAttribute('aria-expanded')).toBe('false')
  await open.press('Enter')
  expect(await open.getAttribute('aria-expanded')).toBe('true')
  const details = page.locator(`[id="${await open.getAttribute('aria-controls')}"]`)
  const [value, name] = [details.getByRole('definition'), details.getByRole('term')]
  await see(value.getByText(person.email).filter({ hasText: /^Ada Lovelace \(/ }))
  await see(value.getByText(/^Account · /))
  await see(value.getByText('Succeeded', { exact: true }))
  expect(await name.allInnerTexts()).toEqual(
    expect.arrayContaining(['Time', 'Person', 'Address', 'Browser or program', 'Concerns', 'Role']),
  )
  await open.press('Enter')
  await seeGone(details)
})

test('signing out in one tab opens the sign-in page in the other tabs', async () => {
  const { page, context } = await site.visit()
  await registerByApi(page, createPerson())
  await page.goto('/organization')
  await see(heading(page, 'Organization'))
  const other = await context.newPage()
  await other.goto('/profile')
  await other.getByRole('button', { name: 'Ada Lovelace' }).click()
  await other.getByRole('menuitem', { name: 'Sign out' }).click()
  await see(heading(other, 'Sign in'))
  await see(heading(page, 'Sign in'))
  expect(new URL(page.url()).searchParams.get('return_to')).toBe('/organization')
})

test('switching the organization in another tab or browser discards drafts', async () => {
  const { page: owner } = await site.visit()
  await registerByApi(owner, createPerson())
  const { page, context } = await site.visit()
  await page.clock.install()
  const barbara = createPerson('Barbara Liskov', 'Abstractions')
  await registerByApi(page, barbara)
  const name = page.getByLabel('Name', { exact: true })
  await page.goto('/organization?tab=settings')
  await name.fill('Types')

  const invitation = { email: barbara.email, role: 'admin' }
  await callByApi(owner.request, 'POST', '/v1/organization/invitations', invitation)
  const other = await context.newPage()
  await other.goto(await site.server.waitForMailedLink(barbara.email, 'Analytical Engines'))
  await other.getByRole('button', { name: 'Accept' }).click()
  await see(other.getByText('You joined Analytical Engines.'))
  await page.waitForURL('**/deployments')
  await page.getByRole('link', { name: 'Organization', exact: true }).click()
  await page.getByRole('tab', { name: 'Settings' }).click()
  await expect.poll(() => name.inputValue()).toBe('Analytical Engines')
  await name.fill('Difference Engines')

  const organizations = await callByApi<{ id: number; current: boolean }[]>(
    page.request,
    'GET',
    '/v1/user/organizations',
  )
  const elsewhere = organizations.find(({ current }) => !current)
  await callByApi(page.request, 'PATCH', '/v1/user/profile', { current_organization_id: elsewhere?.id })
  // The console refetches when the tab becomes visible after a while.
  await page.clock.fastForward('02:00')
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange', { bubbles: true })))
  await expect.poll(() => name.inputValue()).toBe('Abstractions')
})

test('a viewer of another organization can terminate a deployment that the first one pays for', async () => {
  const { page: owner } = await site.visit()
  await registerByApi(owner, createPerson('Barbara Liskov', 'Abstractions'))
  for (const terminate of [terminateInList, terminateOnPage]) {
    const { page } = await site.visit()
    const ada = createPerson()
    await registerByApi(page, ada)
    const id = await deployByApi(page)
    const invitation = { email: ada.email, role: 'viewer' }
    await callByApi(owner.request, 'POST', '/v1/organization/invitations', invitation)
    await page.goto(await site.server.waitForMailedLink(ada.email, 'Abstractions'))
    await page.getByRole('button', { name: 'Accept' }).click()
    await see(page.getByText('You joined Abstractions.'))
    await see(page.getByText('Paid by Analytical Engines'))

    await terminate(page)
    await waitForStatus(page.request, id, 'terminated')
    await see(page.getByText('Viewer', { exact: true }))
  }
})

async function terminateInList(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Actions for/ }).click()
  await page.getByRole('menuitem', { name: 'Terminate' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Terminate' }).click()
}

async function terminateOnPage(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'berth-tiny' }).click()
  await see(page.getByText('Paid by', { exact: true }))
  await see(page.getByRole('definition').getByText('Analytical Engines'))
  await page.getByRole('button', { name: 'Terminate' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Terminate' }).click()
}

test('removing a member names their active deployments and presets no choice', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  const { page: other } = await site.visit()
  const mary = createPerson('Mary Somerville', 'Mechanisms')
  await registerByApi(other, mary)
  await callByApi(page.request, 'POST', '/v1/organization/invitations', { email: mary.email })
  await other.goto(await site.server.waitForMailedLink(mary.email, 'Analytical Engines'))
  await other.getByRole('button', { name: 'Accept' }).click()
  await see(other.getByText('You joined Analytical Engines.'))
  const id = await deployByApi(other)

  await page.goto('/organization')
  await page.getByRole('button', { name: 'Actions for Mary Somerville' }).click()
  await page.getByRole('menuitem', { name: 'Remove' }).click()
  const dialog = page.getByRole('dialog')
  const remove = dialog.getByRole('button', { name: 'Remove' })
  await see(dialog.getByRole('listitem').filter({ hasText: /^berth-tiny · local-cpu · / }))
  expect(await remove.isDisabled()).toBe(true)
  await dialog.getByRole('radio', { name: 'Transfer it to a colleague' }).check()
  expect(await remove.isDisabled()).toBe(true)
  await dialog.getByRole('option', { name: /^Ada Lovelace/ }).click()
  await remove.click()
  await see(page.getByText('Mary Somerville was removed.'))
  await waitForStatus(page.request, id, 'running')
})

test('the deploy dialog tells the size of the weights, and how long earlier starts took', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  const panel = page.getByRole('dialog').getByRole('region', { name: 'Hardware and price' })
  const names = () => panel.getByRole('term').allInnerTexts()
  await page.goto('/catalog/berth-tiny')
  await page.getByRole('button', { name: 'Deploy', exact: true }).first().click()
  await see(panel.getByText(/^[\d.]+\sMiB$/))
  expect(await names()).toContain('Weights')
  expect(await names()).not.toContain('Time until ready')

  await deployByApi(page)
  await page.reload()
  await page.getByRole('button', { name: 'Deploy', exact: true }).first().click()
  await see(panel.getByText('Time until ready'))
  await see(panel.getByRole('definition').getByText(/^[\d.]+\s(ms|s)$/))
})

test('the invite dialog offers only the roles that the person may give', async () => {
  const { page: owner } = await site.visit()
  await registerByApi(owner, createPerson())
  const { page } = await site.visit()
  const barbara = createPerson('Barbara Liskov', 'Abstractions')
  await registerByApi(page, barbara)
  const invitation = { email: barbara.email, role: 'admin' }
  await callByApi(owner.request, 'POST', '/v1/organization/invitations', invitation)
  await page.goto(await site.server.waitForMailedLink(barbara.email, 'Analytical Engines'))
  await page.getByRole('button', { name: 'Accept' }).click()
  await see(page.getByText('You joined Analytical Engines.'))
  for (const [inviter, roles] of [
    [owner, ['Viewer', 'Member', 'Admin']],
    [page, ['Viewer', 'Member']],
  ] as const) {
    await inviter.goto('/organization?invite=yes')
    const offered = inviter.getByRole('dialog').getByRole('radio')
    await see(offered.first())
    const names = await offered.evaluateAll((radios) =>
      radios.map((radio) => (radio as HTMLInputElement).labels?.[0]?.textContent),
    )
    expect(names).toEqual(roles)
  }
})

test('without a mail server, pages say so, and an admin copies the link of an invitation', async () => {
  const { page, context } = await site.visit()
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await registerByApi(page, createPerson())
  await page.goto('/organization?invite=yes')
  await see(page.getByText(/This server sends no email/))
  const guest = createPerson('Grace Hopper')
  await page.getByRole('dialog').getByLabel('Email').fill(guest.email)
  await page.getByRole('dialog').getByRole('button', { name: 'Create invitation' }).click()
  await see(page.getByText(/^Not emailed: this server has no mail server/))
  await page.getByRole('button', { name: `Copy link for ${guest.email}` }).click()
  await see(page.getByText(`Copied. The link is only for ${guest.email}.`))
  const link = await page.evaluate(() => navigator.clipboard.readText())
  expect(link).toBe(await site.server.waitForMailedLink(guest.email, 'Analytical Engines'))

  const { page: other } = await site.visit()
  await other.goto('/forgot-password')
  await see(other.getByText(/This server sends no email/))
  await other.goto(link)
  await other.getByLabel('Password', { exact: true }).fill(guest.password)
  await other.getByRole('button', { name: 'Create account and join' }).click()
  await see(other.getByText('You joined Analytical Engines.'))
})

test('edits made while a form is being saved survive', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  await page.goto('/organization?tab=settings')
  let answer = () => {}
  const held = new Promise<void>((resolve) => (answer = resolve))
  await page.route('**/v1/organization', async (route) => {
    if (route.request().method() === 'PATCH') await held
    await route.continue()
  })
  const name = page.getByLabel('Name', { exact: true })
  const description = page.getByLabel('Description')
  await name.fill('  Difference Engines ')
  await description.fill('Tables')
  await page.getByRole('button', { name: 'Save' }).click()
  await description.fill('Tables without errors')
  answer()
  await see(page.getByText('Saved.', { exact: true }))
  expect(await name.inputValue()).toBe('Difference Engines')
  expect(await description.inputValue()).toBe('Tables without errors')
})

test('relative times update on open pages', async () => {
  const { page, context } = await site.visit()
  await context.clock.install()
  await registerByApi(page, createPerson())
  await callByApi(page.request, 'POST', '/v1/organization/invitations', { email: createPerson().email })
  const id = await deployByApi(page)
  await page.goto('/organization?tab=invitations')
  await see(page.getByText(/Not emailed/))
  const deployment = await context.newPage()
  await deployment.goto(`/deployments/${id}`)
  await see(deployment.getByText(/^ready for /))

  await context.clock.fastForward('05:00')
  await see(page.getByText(/invited [5-9] min\.? ago/))
  await see(deployment.getByText(/^ready for [5-9]\smin/))
})

test('before an account is deleted, a person reads what ends with it, or that they are the only owner', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  const { page: other } = await site.visit()
  await joinByApi(page, other, 'member')
  await page.goto('/profile')
  await page.getByRole('button', { name: 'Delete account' }).click()
  const dialog = page.getByRole('dialog')
  const confirm = dialog.getByRole('button', { name: 'Delete account' })
  await see(
    dialog.getByText('You are the only owner of Analytical Engines. Make another member an owner first.'),
  )
  expect(await dialog.getByLabel('Password', { exact: true }).count()).toBe(0)
  expect(await confirm.isDisabled()).toBe(true)
  await dialog.getByRole('link', { name: 'See members' }).click()
  await page.waitForURL('**/organization')

  const { page: single } = await site.visit()
  const barbara = createPerson('Barbara Liskov', 'Abstractions')
  await registerByApi(single, barbara)
  await deployByApi(single)
  await single.goto('/profile')
  await single.getByRole('button', { name: 'Delete account' }).click()
  const asked = single.getByRole('dialog')
  await see(asked.getByText('Closes with your account, because only you are in it: Abstractions.'))
  await see(asked.getByText('Your deployment ends with your account.'))
  await see(asked.getByRole('listitem').filter({ hasText: /^berth-tiny · local-cpu · / }))
  await asked.getByLabel('Password', { exact: true }).fill(barbara.password)
  await asked.getByRole('button', { name: 'Delete account' }).click()
  await see(single.getByText('Your account is deleted.'))
})

test('the tabs of a page are steps back; what a chart shows is in the address', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  const id = await deployByApi(page)
  await page.goto(`/deployments/${id}`)
  const selected = () => page.getByRole('tab', { selected: true }).innerText()
  await page.getByRole('tab', { name: 'Metrics' }).click()
  await page.getByRole('radio', { name: '24 hours' }).click()
  await page.waitForURL('**/deployments/*?tab=metrics&window=24h')
  await page.reload()
  await expect.poll(() => page.getByRole('radio', { name: '24 hours' }).isChecked()).toBe(true)
  await page.getByRole('tab', { name: 'Activity' }).click()
  await page.goBack()
  await expect.poll(selected).toBe('Metrics')
  await page.goBack()
  await expect.poll(selected).toBe('Overview')
  await page.goto('/usage')
  await page.getByRole('radio', { name: 'Hours' }).click()
  await page.waitForURL('**/usage?measure=hours')
  await page.reload()
  await see(page.getByRole('application', { name: /^Instance time from/ }))

  await page.goto('/organization')
  await page.getByRole('tab', { name: 'Settings' }).click()
  await page.waitForURL('**/organization?tab=settings')
  await page.goBack()
  await expect.poll(selected).toBe('People')
})
