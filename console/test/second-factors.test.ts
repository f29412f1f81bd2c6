import { readFile } from 'node:fs/promises'
import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openApp } from '../../server/test/support/second-factors.ts'
import { useConsole } from './support/console.ts'
import { addDevice } from './support/passkeys.ts'
import { startConsoleTestServer } from './support/test-server.ts'
import { callByApi, createPerson, heading, register, registerByApi, see, seeGone } from './support/steps.ts'
import type { Person } from './support/steps.ts'

const site = useConsole(() => startConsoleTestServer())

/** An authenticator app that takes the key as text, as a person without a camera does. */
async function typeKey(page: Page) {
  const key = (await page.locator('code').last().textContent()) ?? ''
  return openApp(`otpauth://totp/Berth?issuer=Berth&secret=${key.replaceAll(' ', '')}`)
}

async function setUpApp(page: Page, { password }: Person) {
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Continue' }).click()
  await see(page.getByRole('img', { name: 'QR code for your authenticator app' }))
  const app = await typeKey(page)
  // Leaves the code of the current step for a sign-in. A step that ends now would make it two steps old.
  const left = 30_000 - (Date.now() % 30_000)
  if (left < 5_000) await page.waitForTimeout(left)
  await page.getByLabel('Code').fill(app.code(-1))
  await page.getByRole('button', { name: 'Turn on' }).click()
  await see(page.getByText('Each code replaces your second factor once'))
  const codes = ((await page.getByLabel('Recovery codes', { exact: true }).textContent()) ?? '')
    .trim()
    .split('\n')
  return { ...app, codes }
}

async function enterPassword(
  page: Page,
  { email, password }: Person,
  next = 'Enter your code',
): Promise<void> {
  await page.goto('/sign-in')
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await see(heading(page, next))
}

test('a person sets up an app, signs in with its code and with a recovery code, and removes it', async () => {
  const person = createPerson()
  const { page, allowPageErrors } = await site.visit()
  allowPageErrors(/401/)
  await registerByApi(page, person)
  const script = { name: 'Nightly report', password: person.password }
  await callByApi(page.request, 'POST', '/v1/auth/sessions', script)
  await page.goto('/profile')
  await page.getByRole('button', { name: 'Set up an authenticator app' }).click()
  await see(page.getByRole('dialog').getByText('This ends 1 script session: Nightly report.'))
  const { codes, code } = await setUpApp(page, person)
  expect(codes).toHaveLength(10)
  const downloading = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download' }).click()
  const file = await (await downloading).path()
  expect((await readFile(file, 'utf8')).trim().split('\n')).toEqual(codes)
  // The codes are not shown again, so neither Escape nor a click outside closes them.
  const shown = page.getByRole('dialog', { name: 'Save your recovery codes' })
  await page.keyboard.press('Escape')
  await page.mouse.click(5, 5)
  await see(shown.getByText(codes[0]!))
  // Behind the dialog the page says already that the factor is set.
  await see(page.getByText('10 recovery codes are left.'))
  await shown.getByRole('button', { name: 'I have saved them' }).click()
  await seeGone(shown)

  const { page: phone, allowPageErrors: allow } = await site.visit({ viewport: { width: 390, height: 800 } })
  allow(/401/)
  await enterPassword(phone, person)
  const field = phone.getByLabel('Code')
  expect(await field.getAttribute('autocomplete')).toBe('one-time-code')
  expect(await field.evaluate((element) => element === document.activeElement)).toBe(true)
  await field.fill('000000')
  await phone.getByRole('button', { name: 'Sign in' }).click()
  await see(phone.getByText('This code is wrong or was already used.'))
  await field.fill(code())
  await phone.getByRole('button', { name: 'Sign in' }).click()
  await phone.waitForURL('**/deployments')

  await phone.context().clearCookies()
  await enterPassword(phone, person)
  await phone.getByRole('button', { name: 'Use a recovery code' }).click()
  await phone.getByLabel('Recovery code').fill(codes[0]!)
  await phone.getByRole('button', { name: 'Sign in' }).click()
  await phone.waitForURL('**/deployments')

  await phone.goto('/profile')
  await see(phone.getByText('9 recovery codes are left.'))
  await phone.getByRole('button', { name: 'New recovery codes' }).click()
  const dialog = phone.getByRole('dialog')
  await dialog.getByLabel('Password', { exact: true }).fill(person.password)
  await dialog.getByRole('button', { name: 'New recovery codes' }).click()
  await dialog.getByRole('button', { name: 'I have saved them' }).click()
  await see(phone.getByText('10 recovery codes are left.'))
  await phone.getByRole('button', { name: 'Remove the authenticator app' }).click()
  await dialog.getByLabel('Password', { exact: true }).fill('not my password')
  await dialog.getByRole('button', { name: 'Remove' }).click()
  await see(dialog.getByText('The password is wrong.'))
  await dialog.getByLabel('Password', { exact: true }).fill(person.password)
  await dialog.getByRole('button', { name: 'Remove' }).click()
  await see(phone.getByText('The second factor was removed.'))
  await see(phone.getByRole('button', { name: 'Set up an authenticator app' }))
})

/** Fills in the dialog on the profile page, and returns it. */
async function addPasskey(page: Page, person: Person, name: string): Promise<Locator> {
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill(name)
  await dialog.getByLabel('Password', { exact: true }).fill(person.password)
  await dialog.getByRole('button', { name: 'Continue' }).click()
  return dialog
}

/** Registers a person and adds a passkey on their account page. */
async function registerWithPasskey() {
  const person = createPerson()
  const { page, allowPageErrors } = await site.visit()
  allowPageErrors(/401/)
  await addDevice(page)
  await registerByApi(page, person)
  await page.goto('/profile')
  const dialog = await addPasskey(page, person, 'Work laptop')
  await dialog.getByRole('button', { name: 'I have saved them' }).click()
  return { person, page, dialog }
}

test('a person adds a passkey, signs in with it, also again, and removes it', async () => {
  const { person, page, dialog } = await registerWithPasskey()
  await see(page.getByText('Work laptop'))
  await addPasskey(page, person, 'The same laptop')
  await see(dialog.getByText('This device has a passkey for your account already.'))

  for (let round = 0; round < 2; round += 1) {
    await page.context().clearCookies()
    await enterPassword(page, person, 'Use your passkey')
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await page.waitForURL('**/deployments')
  }
  await page.goto('/profile')
  await page.getByRole('button', { name: 'Remove the passkey Work laptop' }).click()
  await dialog.getByLabel('Password', { exact: true }).fill(person.password)
  await dialog.getByRole('button', { name: 'Remove' }).click()
  await see(page.getByText('The second factor was removed.'))
})

test('a passkey confirms in place of the password, wherever the account page asks for it', async () => {
  const { page, dialog } = await registerWithPasskey()
  const confirm = async (open: string, submit = open) => {
    await page.getByRole('button', { name: open }).click()
    await dialog.getByRole('button', { name: 'Use a passkey instead' }).click()
    await seeGone(dialog.getByLabel('Password', { exact: true }))
    await dialog.getByRole('button', { name: submit }).click()
  }
  await confirm('New recovery codes')
  await dialog.getByRole('button', { name: 'I have saved them' }).click()
  await confirm('Set up an authenticator app', 'Continue')
  await see(page.getByRole('img', { name: 'QR code for your authenticator app' }))
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Create a session for scripts' }).click()
  await dialog.getByLabel('Name').fill('Nightly report')
  await dialog.getByRole('button', { name: 'Use a passkey instead' }).click()
  await dialog.getByRole('button', { name: 'Create session' }).click()
  await dialog.getByRole('button', { name: 'I have copied it' }).click()
  // The way back to the password
  await page.getByRole('button', { name: 'Delete account' }).click()
  await dialog.getByRole('button', { name: 'Use a passkey instead' }).click()
  await dialog.getByRole('button', { name: 'Use the password instead' }).click()
  await dialog.getByRole('button', { name: 'Delete account' }).click()
  await see(dialog.getByText('The password is wrong.'))
  await dialog.getByRole('button', { name: 'Use a passkey instead' }).click()
  await dialog.getByRole('button', { name: 'Delete account' }).click()
  await page.waitForURL('**/sign-in')
})

test('a person without their passkey signs in with a recovery code', async () => {
  const person = createPerson()
  const { page, allowPageErrors } = await site.visit()
  allowPageErrors(/401/)
  await addDevice(page)
  await registerByApi(page, person)
  await page.goto('/profile')
  const dialog = await addPasskey(page, person, 'Phone')
  const codes = await dialog.getByLabel('Recovery codes', { exact: true }).textContent()

  const { page: other, allowPageErrors: allow } = await site.visit()
  allow(/401/)
  await addDevice(other)
  await enterPassword(other, person, 'Use your passkey')
  await other.getByRole('button', { name: 'Use a passkey' }).click()
  await see(other.getByText('Your browser did not use a passkey.'))
  await other.getByRole('button', { name: 'Use a recovery code' }).click()
  await other.getByLabel('Recovery code').fill(codes!.split('\n')[0]!)
  await other.getByRole('button', { name: 'Sign in' }).click()
  await other.waitForURL('**/deployments')
})

test('an owner requires a second factor; members are led to it while they work, and may leave instead', async () => {
  const owner = createPerson('Grace Hopper')
  const member = createPerson('Mary Allen')
  const { page, allowPageErrors } = await site.visit()
  allowPageErrors(/409/)
  await register(page, owner)
  const join = async ({ email, password }: Person) => {
    const { page: own, allowPageErrors: allow } = await site.visit()
    allow(/403/)
    const invitations = '/v1/organization/invitations'
    const { id } = await callByApi<{ id: number }>(page.request, 'POST', invitations, { email })
    const { url } = await callByApi<{ url: string }>(page.request, 'POST', `${invitations}/${id}/link`)
    await own.goto(new URL(url).pathname)
    await own.getByLabel('Password', { exact: true }).fill(password)
    await own.getByRole('button', { name: 'Create account and join' }).click()
    await own.waitForURL('**/deployments')
    return own
  }
  const office = await join(member)
  const home = await join(createPerson('Kay McNulty'))

  await page.goto('/organization?tab=settings')
  await page.getByRole('button', { name: 'Require a second factor' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Require a second factor' }).click()
  await see(page.getByText('Set up a second factor for yourself first'))
  await page.goto('/profile')
  await page.getByRole('button', { name: 'Set up an authenticator app' }).click()
  await setUpApp(page, owner)
  await page.getByRole('button', { name: 'I have saved them' }).click()
  await page.goto('/organization?tab=settings')
  await page.getByRole('button', { name: 'Require a second factor' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Require a second factor' }).click()
  await see(page.getByText('A second factor is now required.'))

  // The next request of the open page leads to the setup, and so does every address.
  await office.getByRole('link', { name: 'Usage', exact: true }).click()
  await office.waitForURL('**/set-up-second-factor')
  await office.goto('/catalog')
  await office.waitForURL('**/set-up-second-factor')
  await see(office.getByText(`${owner.organization} requires a second factor`))
  await setUpApp(office, member)
  await office.getByRole('button', { name: 'I have saved them' }).click()
  await office.waitForURL('**/deployments')
  await seeGone(heading(office, 'Set up a second factor'))
  await office.goto('/organization')
  await office.getByRole('button', { name: /^Actions for mary/i }).click()
  await office.getByRole('menuitem', { name: 'Leave' }).click()
  await office.getByRole('dialog').getByRole('button', { name: 'Leave' }).click()
  await office.waitForURL('**/deployments')

  await home.goto('/catalog')
  await home.getByRole('button', { name: `Leave ${owner.organization}` }).click()
  await home.getByRole('dialog').getByRole('button', { name: 'Leave' }).click()
  await home.waitForURL('**/deployments')
  expect(await callByApi<unknown[]>(page.request, 'GET', '/v1/organization/members')).toHaveLength(1)
})
