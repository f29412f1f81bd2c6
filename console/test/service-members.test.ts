import { expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import { useConsole } from './support/console.ts'
import { startConsoleTestServer } from './support/test-server.ts'
import { createPerson, heading, joinByApi, registerByApi, see, seeGone } from './support/steps.ts'

const site = useConsole(startConsoleTestServer)

const dialog = (page: Page) => page.getByRole('dialog')
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()

async function choose(page: Page, action: string): Promise<void> {
  await press(page, 'Actions for Nightly report')
  await page.getByRole('menuitem', { name: action }).click()
}

/** Reads the credentials in the dialog that shows them, and closes the dialog, which Escape does not. */
async function takeCredentials(page: Page): Promise<{ email: string; password: string }> {
  await see(heading(page, 'Copy the credentials'))
  await page.keyboard.press('Escape')
  await see(dialog(page).getByRole('button', { name: 'Copy Credentials' }))
  const text = await dialog(page).getByLabel('Credentials', { exact: true }).innerText()
  await press(page, 'I have copied them')
  await seeGone(dialog(page))
  const [, email = '', password = ''] = /BERTH_EMAIL=(\S+)\nBERTH_PASSWORD=(\S+)/.exec(text) ?? []
  expect(await page.content()).not.toContain(password)
  return { email, password }
}

async function signIn(page: Page, data: { email: string; password: string }): Promise<number> {
  return (await page.request.post('/v1/user/signin', { data })).status()
}

test('an admin adds a service member, changes its networks, rotates its password and removes it', async () => {
  const { page, allowPageErrors } = await site.visit()
  const program = (await site.visit()).page
  allowPageErrors(/status of 422/)
  await registerByApi(page, createPerson())
  await page.goto('/organization')
  await page.getByRole('tab', { name: 'Programs' }).click()
  await page.waitForURL('**/organization?tab=programs')
  await see(heading(page, 'No programs yet'))
  await press(page, 'Add a program')
  await dialog(page).getByLabel('Name').fill('Nightly report')
  await dialog(page).getByLabel('Networks').fill('127.0.0.0/8\noffice')
  await dialog(page).getByRole('button', { name: 'Add a program' }).click()
  await see(dialog(page).getByText(/^“office” is not a network/))
  await seeGone(dialog(page).getByText('Some fields are invalid.'))
  await dialog(page).getByLabel('Networks').fill('127.0.0.0/8, ::1')
  await dialog(page).getByRole('button', { name: 'Add a program' }).click()
  const first = await takeCredentials(page)
  await see(page.getByText('127.0.0.0/8, ::1/128'))
  const row = page.getByRole('row', { name: /^Nightly report/ })
  expect(await page.getByRole('columnheader').allInnerTexts()).toEqual([
    'Name',
    'Role',
    'Last used',
    'Password from',
    'Networks',
    'Actions',
  ])
  await see(row.getByRole('cell', { name: 'Never', exact: true }))
  expect(await signIn(program, first)).toBe(200)
  expect((await program.request.get('/v1/models')).status()).toBe(200)
  await page.reload()
  await see(row.getByRole('cell', { name: 'This hour', exact: true }))
  await see(row.getByRole('cell', { name: /^(now|\d+ sec\. ago|1 min\. ago)$/ }))

  await choose(page, 'New password')
  await dialog(page).getByRole('checkbox').check()
  await dialog(page).getByRole('button', { name: 'New password' }).click()
  const second = await takeCredentials(page)
  expect([await signIn(program, first), await signIn(program, second)]).toEqual([401, 200])

  await choose(page, 'Change networks')
  await dialog(page).getByLabel('Networks').fill('192.0.2.0/24')
  await dialog(page).getByRole('button', { name: 'Save' }).click()
  await see(page.getByText('192.0.2.0/24', { exact: true }))
  expect(await signIn(program, second)).toBe(403)

  await choose(page, 'Remove')
  await dialog(page).getByRole('button', { name: 'Remove' }).click()
  await see(heading(page, 'No programs yet'))
})

test('others see a badge, and the console is closed to a service member', async () => {
  const { page } = await site.visit()
  const viewer = (await site.visit()).page
  const program = (await site.visit()).page
  await registerByApi(page, createPerson())
  await joinByApi(page, viewer, 'viewer')
  const path = '/v1/organization/service-members'
  const data = { name: 'Nightly report', role: 'member', allowed_networks: ['127.0.0.0/8', '::1'] }
  const { email, password } = await (await page.request.post(path, { data })).json()
  await viewer.goto('/organization')
  await see(viewer.getByRole('row', { name: /Nightly report.*Program/ }))
  expect(await viewer.getByRole('tab', { name: 'Programs' }).count()).toBe(0)

  await program.goto('/sign-in')
  await program.getByLabel('Email').fill(email)
  await program.getByLabel('Password', { exact: true }).fill(password)
  await press(program, 'Sign in')
  await see(heading(program, 'This account is for programs'))
  await program.goto('/profile')
  await see(heading(program, 'This account is for programs'))
  await press(program, 'Sign out')
  await see(program.getByRole('button', { name: 'Sign in' }))
})

test('a click whose answer is lost and the next one add one service member', async () => {
  const { page, allowPageErrors } = await site.visit()
  allowPageErrors(/ERR_/)
  await registerByApi(page, createPerson())
  await page.goto('/organization?tab=programs')
  await press(page, 'Add a program')
  await dialog(page).getByLabel('Name').fill('Nightly report')
  await dialog(page).getByLabel('Networks').fill('127.0.0.0/8')
  const route = '**/v1/organization/service-members'
  const statuses: number[] = []
  await page.route(route, async (each) => {
    if (each.request().method() !== 'POST' || statuses.length > 0) return each.continue()
    statuses.push((await each.fetch()).status())
    await each.abort('connectionreset')
  })
  const add = dialog(page).getByRole('button', { name: 'Add a program' })
  await add.click()
  await see(dialog(page).getByText(/^The server is not responding/))
  expect(statuses).toEqual([200])
  await add.click()
  const { email } = await takeCredentials(page)
  const members = await (await page.request.get('/v1/organization/service-members')).json()
  expect(members.map((member: { email: string }) => member.email)).toEqual([email])
})

test('an admin lets a program name the people it serves, and takes the right back', async () => {
  const { page, allowPageErrors } = await site.visit()
  allowPageErrors(/status of 422/)
  await registerByApi(page, createPerson())
  const program = { name: 'Nightly report', role: 'member', allowed_networks: ['127.0.0.0/8'] }
  await page.request.post('/v1/organization/service-members', { data: program })
  await page.goto('/organization?tab=programs')
  await choose(page, 'People it serves')
  await seeGone(dialog(page).getByLabel('Another header with the email'))
  await dialog(page).getByRole('checkbox').check()
  await dialog(page).getByLabel('Another header with the email').fill('Cookie')
  await press(page, 'Save')
  await see(dialog(page).getByText('Must be the name of a header such as X-OpenWebUI-User-Email.'))
  await dialog(page).getByLabel('Another header with the email').fill('X-OpenWebUI-User-Email')
  await press(page, 'Save')
  await seeGone(dialog(page))
  const read = async () => (await (await page.request.get('/v1/organization/service-members')).json())[0]
  expect(await read()).toMatchObject({ may_name_members: true, member_header: 'x-openwebui-user-email' })
  await choose(page, 'People it serves')
  await dialog(page).getByRole('checkbox').uncheck()
  await press(page, 'Save')
  await seeGone(dialog(page))
  expect(await read()).toMatchObject({ may_name_members: false, member_header: null })
})
