import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { useConsole } from './support/console.ts'
import { startConsoleTestServer } from './support/test-server.ts'
import { callByApi, heading, createPerson, registerByApi, see, seeGone } from './support/steps.ts'

const site = useConsole(startConsoleTestServer)

test('sign in, deploy, chat and terminate with the keyboard', async () => {
  const { page } = await site.visit()
  const person = createPerson()
  await registerByApi(page, person)
  await page.request.post('/v1/user/logout')

  await page.goto('/sign-in')
  await tabTo(page, page.getByLabel('Email'))
  await page.keyboard.type(person.email)
  await tabTo(page, page.getByLabel('Password', { exact: true }))
  await page.keyboard.type(person.password)
  await page.keyboard.press('Enter')

  await see(heading(page, 'Deploy your first model'))
  await tabTo(page, page.getByRole('button', { name: /^Deploy / }))
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog')
  await see(dialog.getByRole('region', { name: 'Hardware and price' }))
  await tabTo(page, dialog.getByRole('button', { name: 'Deploy', exact: true }))
  await page.keyboard.press('Enter')

  await page.waitForURL('**/deployments/*')
  await seeGone(dialog)
  await expectFocus(page.getByRole('main'))
  const overview = page.getByRole('tab', { name: 'Overview' })
  await tabTo(page, overview)
  await page.keyboard.press('ArrowLeft')
  await see(page.getByRole('tabpanel', { name: 'Settings' }))
  await page.keyboard.press('Home')
  await see(page.getByRole('tabpanel', { name: 'Overview' }))
  const playground = page.getByRole('link', { name: 'Open in playground' })
  await see(playground)
  await tabTo(page, playground, 'Shift+Tab')
  await page.keyboard.press('Enter')

  await tabTo(page, page.getByRole('textbox', { name: 'Message' }))
  await page.keyboard.type('Who are you?')
  await page.keyboard.press('Enter')
  await see(page.getByText(/\d+ tokens in · \d+ out/))

  const list = page.getByRole('link', { name: 'Deployments', exact: true })
  await tabTo(page, list, 'Shift+Tab')
  await page.keyboard.press('Enter')
  await see(heading(page, 'Deployments'))
  // A new page has the focus, and its heading is what a screen reader says then.
  await expectFocus(page.getByRole('main', { name: 'Deployments' }))
  await tabTo(page, page.getByRole('link', { name: 'berth-tiny' }))
  await page.keyboard.press('Enter')
  await expectFocus(page.getByRole('main', { name: 'berth-tiny' }))
  await page.goBack()
  await expectFocus(page.getByRole('main', { name: 'Deployments' }))
  const actions = page.getByRole('button', { name: /^Actions for/ })
  await see(actions)
  await tabTo(page, actions)
  await chooseTerminateItem(page)
  await tabTo(page, page.getByRole('dialog').getByRole('button', { name: 'Cancel' }))
  await page.keyboard.press('Escape')
  await seeGone(page.getByRole('dialog'))
  await expectFocus(actions)

  await chooseTerminateItem(page)
  await tabTo(page, page.getByRole('dialog').getByRole('button', { name: 'Terminate' }))
  await page.keyboard.press('Enter')
  await see(page.getByText('No current deployments'))
})

test('the command palette finds pages, settings, people, actions and models', async () => {
  const { page } = await site.visit()
  const person = createPerson()
  await registerByApi(page, person)
  await page.goto('/deployments')
  await see(heading(page, 'Deploy your first model'))
  const palette = page.getByRole('dialog', { name: 'Search or jump to…' })

  await openPalette(page)
  await page.keyboard.type('bill')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/billing')
  await seeGone(palette)
  await see(heading(page, 'Billing'))

  await openPalette(page)
  await see(palette.getByRole('option', { name: 'Sign out' }))
  // Models, people and settings don't bury the rest before something is typed.
  expect(await palette.getByRole('option').count()).toBeLessThan(20)
  await page.keyboard.type('audit')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/organization?tab=audit')

  for (const [typed, found] of [
    ['log out', 'Sign out'],
    ['budget', 'Budgets'],
  ] as const) {
    await openPalette(page)
    await page.keyboard.type(typed)
    await see(palette.getByRole('option', { name: found }))
    await page.keyboard.press('Escape')
  }

  await openPalette(page)
  await page.keyboard.type('second fac')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/profile#second-factor')
  await expect.poll(() => isInWindow(heading(page, 'Second factor'))).toBe(true)

  await openPalette(page)
  await page.keyboard.type('berth connect')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/profile#command-line')
  const { origin } = new URL(page.url())
  await see(page.getByText(`npm install --global ${origin}/downloads/berth-cli.tgz`))

  await openPalette(page)
  await page.keyboard.type(person.email)
  await see(palette.getByRole('option', { name: person.name }))
  await page.keyboard.press('Enter')
  await page.waitForURL(({ search }) => search.startsWith('?tab=people&q='))

  await openPalette(page)
  await page.keyboard.type('tiny')
  await see(palette.getByRole('option', { name: 'Berth Tiny', exact: true }))
  await page.keyboard.press('Enter')
  await page.waitForURL('**/catalog/*')

  await openPalette(page)
  await page.keyboard.type('invite')
  await page.keyboard.press('Enter')
  await see(page.getByRole('dialog', { name: 'Invite members' }))
  await page.keyboard.press('Escape')

  await openPalette(page)
  await page.keyboard.type('theme dark')
  await page.keyboard.press('Enter')
  await seeGone(palette)
  expect(await page.locator('html').getAttribute('data-theme')).toBe('dark')

  await openPalette(page)
  await page.keyboard.type('no such thing')
  await see(palette.getByText('Nothing found.'))
  await page.keyboard.press('Escape')
  await openPalette(page)
  await page.keyboard.type('sign out')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/sign-in')
})

test('the command palette switches the organization', async () => {
  const { page: owner } = await site.visit()
  await registerByApi(owner, createPerson())
  const { page } = await site.visit()
  const barbara = createPerson('Barbara Liskov', 'Abstractions')
  await registerByApi(page, barbara)
  const invitation = { email: barbara.email, role: 'viewer' }
  await callByApi(owner.request, 'POST', '/v1/organization/invitations', invitation)
  await page.goto('/deployments')
  await page.getByRole('button', { name: /account menu/ }).click()
  await see(page.getByRole('menuitem', { name: '1 pending invitation' }))
  await page.goto(await site.server.waitForMailedLink(barbara.email, 'Analytical Engines'))
  await page.getByRole('button', { name: 'Accept' }).click()
  await see(page.getByText('You joined Analytical Engines.'))
  // The shortcut works once the shell has loaded.
  await see(page.getByRole('main').getByRole('heading', { name: 'Deployments', exact: true }))
  const palette = page.getByRole('dialog', { name: 'Search or jump to…' })
  await openPalette(page)
  await see(palette.getByRole('option', { name: 'Switch to Abstractions' }))
  expect(await palette.getByRole('option', { name: 'Switch to Analytical Engines' }).count()).toBe(0)
  await page.keyboard.type('switch abs')
  await page.keyboard.press('Enter')
  await see(page.getByText('Switched to Abstractions.'))
  await page.waitForURL('**/deployments')
  // The person owns this organization and may deploy.
  await see(heading(page, 'Deploy your first model'))

  await openPalette(page)
  await see(palette.getByRole('option', { name: 'Switch to Analytical Engines' }))
})

test('? lists the keyboard shortcuts, unless a person types it', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  await page.goto('/catalog')
  const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
  const search = page.getByRole('searchbox')
  await search.focus()
  await page.keyboard.type('what?')
  expect(await search.inputValue()).toBe('what?')
  expect(await dialog.count()).toBe(0)
  await search.fill('')

  await search.blur()
  await page.keyboard.press('?')
  await see(dialog.getByText('Send the message'))
  expect(await dialog.getByRole('heading', { level: 3 }).allInnerTexts()).toEqual([
    'Everywhere',
    'Playground',
    'Charts',
  ])
  await page.keyboard.press('Escape')
  await seeGone(dialog)

  await openPalette(page)
  await page.keyboard.type('keyboard')
  await page.keyboard.press('Enter')
  await see(dialog)
})

/** Opens the command palette and waits until it takes the keys. */
async function openPalette(page: Page): Promise<void> {
  await page.keyboard.press('Control+k')
  await expectFocus(page.getByRole('combobox', { name: 'Search or jump to…' }))
}

/** Chooses the last item of the focused menu button. */
async function chooseTerminateItem(page: Page): Promise<void> {
  await page.keyboard.press('Enter')
  await expectFocus(page.getByRole('menuitem', { name: 'Open', exact: true }))
  await page.keyboard.press('End')
  await expectFocus(page.getByRole('menuitem', { name: 'Terminate' }))
  await page.keyboard.press('Enter')
}

/** Presses Tab until the target has the focus, and checks that the focus is visible. */
async function tabTo(page: Page, target: Locator, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
  await target.waitFor()
  for (let pressed = 0; !(await hasFocus(target)); pressed += 1) {
    if (pressed === 80) throw new Error(`Pressing ${key} 80 times did not focus ${target.toString()}`)
    await page.keyboard.press(key)
  }
  expect(await target.evaluate(showsFocus), `${target.toString()} shows its focus`).toBe(true)
}

const isInWindow = (target: Locator) =>
  target.evaluate((node) => {
    const { top, bottom } = node.getBoundingClientRect()
    return top >= 0 && bottom <= innerHeight
  })
const hasFocus = (target: Locator) => target.evaluate((node) => node === document.activeElement)
const expectFocus = (target: Locator) => expect.poll(() => hasFocus(target)).toBe(true)

/** Whether the element, its stretched ::after, or its parent has an outline. */
function showsFocus(node: Element): boolean {
  const hasOutline = (element: Element, part?: string) => {
    const { outlineStyle, outlineWidth } = getComputedStyle(element, part)
    return outlineStyle !== 'none' && outlineWidth !== '0px'
  }
  const parent = node.parentElement
  return hasOutline(node) || hasOutline(node, '::after') || (parent !== null && hasOutline(parent))
}
