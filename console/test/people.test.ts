import type { Page } from 'playwright-core'
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

const rowOf = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })
const dialog = (page: Page) => page.getByRole('dialog')
const invitations = '/v1/organization/invitations'

test('an admin finds a colleague by name, role and kind, sees who was active when, and others see no dates', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  const grace = (await site.visit()).page
  await joinByApi(page, grace, 'viewer', 'Grace Hopper')
  const alan = (await site.visit()).page
  await joinByApi(page, alan, 'member', 'Alan Turing')
  await callByApi(page.request, 'POST', invitations, { email: 'zoe@example.com', role: 'viewer' })

  await page.goto('/organization')
  await see(rowOf(page, 'Alan Turing').getByText('This hour'))
  await see(rowOf(page, 'Grace Hopper').getByText('No', { exact: true }))
  const names = () => page.getByRole('row').locator('td:first-child').allInnerTexts()
  await expect.poll(async () => (await names())[0]).toMatch(/^zoe@example\.com\s+Invited/)
  await page.getByRole('searchbox', { name: 'Search name or email' }).fill('GRACE')
  await seeGone(rowOf(page, 'Alan Turing'))
  await page.waitForURL(/q=GRACE/)
  await page.reload()
  await see(rowOf(page, 'Grace Hopper'))
  expect(await rowOf(page, 'Alan Turing').count()).toBe(0)
  await page.getByRole('combobox', { name: 'Role' }).selectOption('Admin')
  await see(page.getByRole('heading', { name: 'Nobody matches' }))
  await page.waitForURL(/role=admin/)
  await page.getByRole('link', { name: 'Clear filters' }).click()
  await see(rowOf(page, 'Alan Turing'))
  await page.getByRole('combobox', { name: 'Kind' }).selectOption('Members')
  await seeGone(rowOf(page, 'zoe@example.com'))
  await page.getByRole('combobox', { name: 'Sort' }).selectOption('By role')
  await page.waitForURL('**/organization?kind=member&sort=role')
  await expect
    .poll(async () => (await names()).map((name) => name.split('\n')[0]))
    .toEqual(['Ada Lovelace', 'Alan Turing', 'Grace Hopper'])

  await grace.goto('/organization?kind=invitation')
  await see(grace.getByRole('heading', { name: 'Nobody matches' }))
  await grace.goto('/organization')
  await see(rowOf(grace, 'Alan Turing'))
  expect(await grace.getByRole('columnheader').allInnerTexts()).toEqual(['Name', 'Role', 'Actions'])
  expect(await grace.getByRole('tab').allInnerTexts()).toEqual(['People', 'Settings'])
  expect(await grace.getByRole('option', { name: /active|Invitations/ }).count()).toBe(0)
})

test('people come in pages of 50, and the way back from another page leads to the same place', async () => {
  const { page, context } = await site.visit()
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await registerByApi(page, createPerson())
  for (let index = 0; index < 52; index++) {
    await callByApi(page.request, 'POST', invitations, { email: `guest-${index}@example.com` })
  }
  await page.goto('/organization?kind=invitation')
  const rows = page.getByRole('row').filter({ hasText: 'guest-' })
  await see(page.getByText('1 to 50 of 52'))
  expect(await rows.count()).toBe(50)
  await see(rows.last().getByText(/^The link expires in/))
  await rows.last().scrollIntoViewIfNeeded()
  const place = () => page.evaluate(() => window.scrollY)
  await page.getByRole('link', { name: 'Next' }).hover()
  const before = await place()
  expect(before).toBeGreaterThan(500)
  await page.getByRole('link', { name: 'Usage', exact: true }).click()
  await see(page.getByLabel('Group by'))
  await page.goBack()
  await see(page.getByText('1 to 50 of 52'))
  await expect.poll(place).toBe(before)

  await page.getByRole('link', { name: 'Next' }).click()
  await page.waitForURL('**/organization?kind=invitation&page=2')
  await expect.poll(() => rows.count()).toBe(2)
  await page.reload()
  await see(page.getByText('51 to 52 of 52'))
  await page.getByRole('searchbox', { name: 'Search name or email' }).fill('guest-7@')
  await expect.poll(() => rows.count()).toBe(1)
  await page.waitForURL(
    ({ searchParams }) => searchParams.get('q') === 'guest-7@' && !searchParams.has('page'),
  )

  // Of an open invitation, the row offers what the list of invitations does.
  await page.getByRole('button', { name: 'Actions for guest-7@example.com' }).click()
  await page.getByRole('menuitem', { name: 'Copy link' }).click()
  await see(page.getByText('Copied. The link is only for guest-7@example.com.'))
  await page.getByRole('button', { name: 'Actions for guest-7@example.com' }).click()
  await page.getByRole('menuitem', { name: 'Cancel invitation' }).click()
  await see(page.getByText(/^The invitation to guest-7@example\.com was cancelled/))
  await see(page.getByRole('heading', { name: 'Nobody matches' }))
})

test('several people are invited at once; each address has its result, and those that failed stay', async () => {
  const { page, allowPageErrors } = await site.visit()
  allowPageErrors(/status of 4(09|22)/)
  const ada = createPerson()
  await registerByApi(page, ada)
  const [grace, alan, known] = [createPerson('Grace'), createPerson('Alan'), createPerson('Known')]
  await callByApi(page.request, 'POST', invitations, { email: known.email })
  await page.goto('/organization?sort=name&invite=yes')
  const field = dialog(page).getByLabel('Emails')
  const send = dialog(page).getByRole('button', { name: 'Create invitations' })
  await see(field)
  await send.click()
  await see(dialog(page).getByText('Enter an email.'))
  await field.fill(`${grace.email}\nnot an address,${ada.email}; ${known.email}`)
  await dialog(page).getByText('Viewer', { exact: true }).click()
  await send.click()
  const results = dialog(page).getByRole('list', { name: 'Results' }).getByRole('listitem')
  await expect.poll(() => results.count()).toBe(6)
  await see(results.filter({ hasText: grace.email }).getByText('Created'))
  await see(results.filter({ hasText: ada.email }).getByRole('button', { name: 'See member' }))
  expect(await field.inputValue()).toBe(['not', 'an', 'address', ada.email, known.email].join('\n'))
  const [invitation] = await callByApi<{ invitee_email: string; role: string }[]>(
    page.request,
    'GET',
    invitations,
  )
  expect(invitation).toMatchObject({ invitee_email: grace.email, role: 'viewer' })

  // The pending one may be renewed once a minute only, so the field keeps it.
  await see(results.filter({ hasText: known.email }).getByRole('button', { name: /^Renew link/ }))
  await field.fill(`${alan.email}, ${ada.email}`)
  await send.click()
  await expect.poll(() => results.count()).toBe(2)
  expect(await field.inputValue()).toBe(ada.email)
  await results.getByRole('button', { name: 'See member' }).click()
  await seeGone(dialog(page))
  await expect.poll(() => page.getByRole('row').count()).toBe(2)
  await see(rowOf(page, ada.email))
  expect(new URL(page.url()).searchParams.get('q')).toBe(ada.email)

  await page.goto('/organization?invite=yes')
  const [last, other] = [createPerson('Last'), createPerson('Other')]
  await field.fill(`${last.email}\n${other.email}`)
  await send.click()
  await see(page.getByText('2 invitations created. Copy each link to pass it on.'))
  await see(page.getByRole('listitem').filter({ hasText: other.email }))
})

test('who receives the deployments of a removed member is found by name; viewers are not offered', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  const mary = (await site.visit()).page
  await joinByApi(page, mary, 'member', 'Mary Somerville')
  const grace = (await site.visit()).page
  const graceId = await joinByApi(page, grace, 'member', 'Grace Hopper')
  await joinByApi(page, (await site.visit()).page, 'viewer', 'Graham Bell')
  const id = await deployByApi(mary)

  await page.goto('/organization')
  await page.getByRole('button', { name: 'Actions for Mary Somerville' }).click()
  await page.getByRole('menuitem', { name: 'Remove' }).click()
  const remove = dialog(page).getByRole('button', { name: 'Remove' })
  await dialog(page).getByRole('radio', { name: 'Transfer it to a colleague' }).check()
  const options = dialog(page).getByRole('option')
  await expect.poll(() => options.count()).toBe(2)
  expect(await remove.isDisabled()).toBe(true)
  await dialog(page).getByRole('combobox').fill('gra')
  await expect.poll(() => options.allInnerTexts()).toEqual([expect.stringMatching(/^Grace Hopper/)])
  await page.keyboard.press('Enter')
  await see(dialog(page).getByText('Grace Hopper receives the deployment.'))
  await remove.click()
  await see(page.getByText('Mary Somerville was removed.'))
  await waitForStatus(page.request, id, 'running')
  const { user_id: owner } = await callByApi<{ user_id: string }>(
    page.request,
    'GET',
    `/api/v1/model-deployments/${id}?scope=organization`,
  )
  expect(owner).toBe(String(graceId))
})
