import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openApp } from '../../server/test/support/second-factors.ts'
import { useConsole } from './support/console.ts'
import { startConsoleServer } from './support/server.ts'
import { callByApi, createPerson, heading, register, registerByApi, see, seeGone } from './support/steps.ts'
import type { Person } from './support/steps.ts'

const site = useConsole(() => startConsoleServer())

/** An authenticator app that takes the key as text, as a person without a camera does. */
async function typeKey(page: Page) {
  const key = (await page.locator('code').first().textContent()) ?? ''
  return openApp(`otpauth://totp/Berth?issuer=Berth&secret=${key.replaceAll(' ', '')}`)
}

async function setUpApp(page: Page, { password }: Person) {
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Continue' }).click()
  await see(page.getByRole('img', { name: 'QR code for your authenticator app' }))
  const app = await typeKey(page)
  // Leaves the code of the current step for a sign-in.
  await page.getByLabel('Code').fill(app.code(-1))
  await page.getByRole('button', { name: 'Turn on' }).click()
  await see(page.getByText('Each code replaces the authenticator app once'))
  const codes = ((await page.getByLabel('Recovery codes', { exact: true }).textContent()) ?? '')
    .trim()
    .split('\n')
  return { ...app, codes }
}

async function enterPassword(page: Page, { email, password }: Person): Promise<void> {
  await page.goto('/sign-in')
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await see(heading(page, 'Enter your code'))
}

test('a person sets up an app, signs in with its code and with a recovery code, and removes it', async () => {
  const person = createPerson()
  const { page, allowPageErrors } = await site.visit()
  allowPageErrors(/401/)
  await registerByApi(page, person)
  await page.goto('/profile')
  await page.getByRole('button', { name: 'Set up an authenticator app' }).click()
  const { codes, code } = await setUpApp(page, person)
  expect(codes).toHaveLength(10)
  const downloading = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download' }).click()
  const file = await (await downloading).path()
  expect((await readFile(file, 'utf8')).trim().split('\n')).toEqual(codes)
  await page.getByRole('button', { name: 'I have saved them' }).click()
  await see(page.getByText('10 recovery codes are left.'))

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
  await see(phone.getByText('The authenticator app was removed.'))
  await see(phone.getByRole('button', { name: 'Set up an authenticator app' }))
})

test('an owner requires a second factor, and a member is led to it while they work', async () => {
  const owner = createPerson('Grace Hopper')
  const member = createPerson('Mary Allen')
  const { page, allowPageErrors } = await site.visit()
  allowPageErrors(/409/)
  await register(page, owner)
  const { page: office, allowPageErrors: allow } = await site.visit()
  allow(/403/)
  const { id } = await callByApi<{ id: number }>(page.request, 'POST', '/v1/organization/invitations', {
    email: member.email,
  })
  const path = `/v1/organization/invitations/${id}/link`
  const { url } = await callByApi<{ url: string }>(page.request, 'POST', path)
  await office.goto(new URL(url).pathname)
  await office.getByLabel('Password', { exact: true }).fill(member.password)
  await office.getByRole('button', { name: 'Create account and join' }).click()
  await office.waitForURL('**/deployments')

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

  // The next request of the open page leads to the set-up, and so does every address.
  await office.getByRole('link', { name: 'Usage', exact: true }).click()
  await office.waitForURL('**/set-up-second-factor')
  await office.goto('/catalog')
  await office.waitForURL('**/set-up-second-factor')
  await see(office.getByText(`${owner.organization} requires a second factor`))
  await setUpApp(office, member)
  await office.getByRole('button', { name: 'I have saved them' }).click()
  await office.waitForURL('**/deployments')
  await seeGone(heading(office, 'Set up a second factor'))
})
