import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { useConsole } from './support/console.ts'
import { startConsoleServer } from './support/server.ts'
import {
  activateBilling,
  deployFirstModel,
  heading,
  createPerson,
  register,
  see,
  seeGone,
  signIn,
} from './support/steps.ts'

const site = useConsole(() => startConsoleServer({ BILLING_TRIAL_MAX_ACTIVE: '2' }))

test('an empty installation offers the first account, later ones a sign-in; each form focuses its first empty field', async () => {
  const { page } = await site.visit()
  await page.goto('/sign-in')
  await see(page.getByText(/^Berth runs open models .+ Nobody has an account on this server yet\.$/))
  await expectFocus(page.getByRole('link', { name: 'Create the first account' }))
  expect(await page.getByRole('link', { name: 'Create an account' }).count()).toBe(0)
  await page.getByRole('link', { name: 'Create the first account' }).click()
  await expectFocus(page.getByLabel('Your name'))
  const first = createPerson()
  await register(page, first)

  const { page: other } = await site.visit()
  await other.goto('/sign-in')
  await see(other.getByRole('link', { name: 'Create an account' }))
  expect(await other.getByRole('link', { name: 'Create the first account' }).count()).toBe(0)
  await other.getByRole('link', { name: 'Create an account' }).click()
  await see(heading(other, 'Create your account'))
  await other.getByLabel('Email').fill(first.email)
  await other.getByRole('link', { name: 'Sign in' }).click()
  await expectFocus(other.getByLabel('Password', { exact: true }))
})

test('register, deploy, chat, pay, invite members, reset a password and terminate', async () => {
  const { page } = await site.visit()
  const ada = createPerson()
  await register(page, ada)
  await deployFirstModel(page)
  await checkDeployment(page)
  await chat(page)
  await stopAnswer(page)
  await checkUsage(page)
  await payWithCard(page)

  const grace = createPerson('Grace Hopper')
  const invitation = await invite(page, grace.email, 'Viewer')
  const { page: other } = await site.visit()
  await acceptWithNewAccount(other, invitation, grace.password)
  await checkViewer(other)

  const barbara = createPerson('Barbara Liskov', 'Abstractions')
  const { page: third } = await site.visit()
  await register(third, barbara)
  await acceptWithAccount(third, await invite(page, barbara.email, 'Admin'))
  await checkAdmin(third)

  await resetPassword(other, grace.email, 'a moth in the relay')
  await signIn(other, { ...grace, password: 'a moth in the relay' })
  await see(heading(other, 'Deployments'))

  await terminate(page)
})

const expectFocus = (target: Locator) =>
  expect.poll(() => target.evaluate((node) => node === document.activeElement)).toBe(true)

/** Checks code sample, activity, log and metrics of a running deployment. */
async function checkDeployment(page: Page): Promise<void> {
  await see(page.getByText('/v1/chat/completions'))
  await page.getByRole('tab', { name: 'Activity' }).click()
  const activity = page.getByRole('list', { name: 'Activity' })
  await see(activity.getByRole('heading', { name: 'Requested' }))
  await see(activity.getByRole('heading', { name: 'Running' }))
  await page.getByRole('tab', { name: 'Logs' }).click()
  await see(page.getByRole('log', { name: 'Engine log' }).getByText(/context of \d+ tokens/))
  await page.getByRole('tab', { name: 'Metrics' }).click()
  await see(page.getByText('Requests'))
}

async function chat(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Open in playground' }).click()
  const message = page.getByRole('textbox', { name: 'Message' })
  await message.fill('Who are you?')
  await message.press('Enter')
  await see(page.getByText(/\d+ tokens in · \d+ out/))
  await page.getByRole('button', { name: 'Regenerate' }).click()
  await see(page.getByText(/\d+ tokens in · \d+ out/))
}

/** Pauses the engine, so that the answer cannot finish before it is stopped. */
async function stopAnswer(page: Page): Promise<void> {
  await site.server.signalEngines('SIGSTOP')
  try {
    await page.getByRole('textbox', { name: 'Message' }).fill('Tell me more.')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByRole('button', { name: 'Stop' }).click()
    await see(page.getByText('Stopped.'))
  } finally {
    await site.server.signalEngines('SIGCONT')
  }
}

async function checkUsage(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Usage', exact: true }).click()
  await see(heading(page, 'Usage by day'))
  await see(page.getByRole('application', { name: /^Cost from/ }))
  await see(page.getByRole('row', { name: /Input tokens/ }))
}

async function payWithCard(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Billing', exact: true }).click()
  await activateBilling(page)
  await see(heading(page, /Pay as you go/))
  await see(page.getByRole('listitem').filter({ hasText: '4242' }).getByText('Default'))
}

/** Invites a person and returns the link in the email. */
async function invite(page: Page, email: string, role: 'Viewer' | 'Admin'): Promise<string> {
  await page.getByRole('link', { name: 'Organization', exact: true }).click()
  await page.getByRole('button', { name: 'Invite' }).first().click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Email').fill(email)
  // The label covers the radio button.
  await dialog.getByText(role, { exact: true }).click()
  expect(await dialog.getByRole('radio', { name: role }).isChecked()).toBe(true)
  await dialog.getByRole('button', { name: 'Create invitation' }).click()
  await see(page.getByRole('listitem').filter({ hasText: email }))
  return site.server.waitForMailedLink(email, 'Analytical Engines')
}

async function acceptWithNewAccount(page: Page, link: string, password: string): Promise<void> {
  await page.goto(link)
  await see(heading(page, 'Join Analytical Engines'))
  await page.getByLabel('First name').fill('Grace')
  await page.getByLabel('Last name').fill('Hopper')
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Create account and join' }).click()
  await see(page.getByText('You joined Analytical Engines.'))
}

async function acceptWithAccount(page: Page, link: string): Promise<void> {
  await page.goto(link)
  await page.getByRole('button', { name: 'Accept' }).click()
  await see(page.getByText('You joined Analytical Engines.'))
}

/** Checks that a viewer can neither deploy nor administer. */
async function checkViewer(page: Page): Promise<void> {
  await page.waitForURL('**/deployments')
  await see(page.getByText('Viewer', { exact: true }))
  await see(page.getByText(/Your role can call models that others share/))
  expect(await page.getByRole('button', { name: /Deploy/ }).count()).toBe(0)
  expect(await page.getByRole('link', { name: 'Billing', exact: true }).count()).toBe(0)
  await page.getByRole('link', { name: 'Catalog', exact: true }).click()
  await page.getByRole('link', { name: /tiny/i }).first().click()
  await see(page.getByRole('region', { name: 'Variants' }))
  expect(await page.getByRole('button', { name: /Deploy/ }).count()).toBe(0)
  await page.getByRole('link', { name: 'Organization', exact: true }).click()
  await see(page.getByRole('region', { name: 'People' }))
  expect(await page.getByRole('button', { name: 'Invite' }).count()).toBe(0)
  expect(await page.getByRole('tab', { name: 'Invitations' }).count()).toBe(0)
}

/** Checks that an admin can deploy and invite, and keeps the owner role in the other organization. */
async function checkAdmin(page: Page): Promise<void> {
  await page.waitForURL('**/deployments')
  await see(page.getByRole('button', { name: /^Deploy / }))
  await page.getByRole('link', { name: 'Organization', exact: true }).click()
  await see(page.getByRole('button', { name: 'Invite' }))
  await page.getByRole('button', { name: /Analytical Engines/ }).click()
  await page.getByRole('menuitem', { name: /Abstractions/ }).click()
  await see(page.getByText('Switched to Abstractions.'))
  await see(page.getByText('Owner', { exact: true }))
}

async function resetPassword(page: Page, email: string, password: string): Promise<void> {
  await page.getByRole('button', { name: /account menu$/ }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.getByRole('link', { name: 'Forgot your password?' }).click()
  // The sign-in page, which a busy machine still shows, has a field with the same label.
  await see(heading(page, 'Reset your password'))
  await page.getByLabel('Email').fill(email)
  await page.getByRole('button', { name: 'Request link' }).click()
  await see(page.getByText(/the link is in the newest file/))
  await page.goto(await site.server.waitForMailedLink(email, 'password'))
  await page.getByLabel('New password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Set password' }).click()
  await see(page.getByText('Your new password is set.'))
}

async function terminate(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Deployments', exact: true }).click()
  await page.getByRole('button', { name: /^Actions for/ }).click()
  await page.getByRole('menuitem', { name: 'Terminate' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Terminate' }).click()
  await see(page.getByText('No current deployments'))
  await page.getByRole('radio', { name: 'All' }).click()
  await see(page.getByText('Terminated'))
  await seeGone(page.getByRole('dialog'))
}
