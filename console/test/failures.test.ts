import { expect, test } from 'vitest'
import { waitUntil } from '../../server/test/support/process.ts'
import { useConsole } from './support/console.ts'
import { waitTimeout } from './support/server.ts'
import { startConsoleTestServer } from './support/test-server.ts'
import {
  callByApi,
  deployByApi,
  enterCard,
  heading,
  createPerson,
  registerByApi,
  see,
  seeGone,
  signIn,
  waitForStatus,
} from './support/steps.ts'

const site = useConsole(() => startConsoleTestServer({ BILLING_TRIAL_MAX_ACTIVE: '1' }))
const lostConnection =
  /ERR_(CONNECTION_REFUSED|CONNECTION_RESET|SOCKET_NOT_CONNECTED|EMPTY_RESPONSE|INCOMPLETE_CHUNKED_ENCODING)/
const away = /No connection to the server/

test('a deployment whose engine keeps crashing says when it tries again, and recovers', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  const id = await deployByApi(page)
  await page.goto(`/deployments/${id}`)
  await see(page.getByRole('link', { name: 'Open in playground' }))

  const attempt = page.getByText(/The next attempt is at/)
  const kill = async () => {
    await site.server.signalEngines('SIGKILL')
    return (await attempt.count()) > 0
  }
  await waitUntil(kill, 2 * waitTimeout, 'the page to tell the next attempt')
  await see(page.getByText('Running', { exact: true }))
})

test('a deployment whose engine never starts shows the reason and what to do', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  const order = { model_name: 'berth-tiny' }
  const { id } = await callByApi<{ id: string }>(page.request, 'POST', '/api/v1/model-deployments', order)
  await page.goto(`/deployments/${id}`)

  const failure = heading(page, /^Failed: /)
  const kill = async () => {
    await site.server.signalEngines('SIGKILL')
    return (await failure.count()) > 0
  }
  await waitUntil(kill, 2 * waitTimeout, 'the page to show the failure')
  await see(page.getByText('engine_crashed'))
  await see(heading(page, 'What to do'))
  await see(page.getByText(/The engine crashed several times in a row/))
  expect(await page.getByRole('link', { name: 'Open in playground' }).count()).toBe(0)

  await page.getByRole('link', { name: 'See logs' }).click()
  await see(page.getByRole('log', { name: 'Engine log' }))
  await page.getByRole('button', { name: 'Deploy again' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await see(page.getByText('Terminated', { exact: true }))
})

test('open pages report a server restart and recover', async () => {
  const { page, context, allowPageErrors } = await site.visit()
  allowPageErrors(lostConnection)
  await registerByApi(page, createPerson())
  const id = await deployByApi(page)
  await page.goto('/deployments')
  await see(page.getByText('Running', { exact: true }))
  const logs = await context.newPage()
  await logs.goto(`/deployments/${id}?tab=logs`)
  await see(logs.getByRole('log', { name: 'Engine log' }).getByText(/context of/))

  await site.server.stop()
  await page.bringToFront()
  await see(page.getByText(away))
  await see(page.getByRole('link', { name: 'berth-tiny' }))
  await site.server.start()
  await seeGone(page.getByText(away))
  await see(page.getByText('Running', { exact: true }))

  await logs.bringToFront()
  await seeGone(logs.getByText(/The connection to the log was lost/))
  await logs.getByRole('tab', { name: 'Overview' }).click()
  await page.request.delete(`/api/v1/model-deployments/${id}`)
  await see(logs.getByRole('heading', { name: 'Terminated' }))
})

test('code requested while the server is unreachable loads once the server is back', async () => {
  const { page, allowPageErrors } = await site.visit()
  allowPageErrors(new RegExp(`${lostConnection.source}|dynamically imported module`))
  await registerByApi(page, createPerson())
  await page.goto('/playground')
  await see(page.getByRole('link', { name: 'Choose a model' }))

  await site.server.stop()
  await page.keyboard.press('Control+k')
  await see(page.getByText(away))
  const overflow = () => page.evaluate(() => document.documentElement.scrollHeight - window.innerHeight)
  expect(await overflow()).toBe(0)
  await site.server.start()
  const dialog = page.getByRole('dialog', { name: 'Search or jump to…' })
  const retry = page.getByRole('button', { name: 'Try again' })
  await see(dialog.or(retry))
  await seeGone(page.getByText(away))
  // Chromium before 154 remembers failed imports until the page is reloaded.
  if (await retry.isVisible()) {
    await retry.click()
    await see(page.getByRole('link', { name: 'Choose a model' }))
    await page.keyboard.press('Control+k')
  }
  await see(dialog)
})

test('code that a newer console no longer has shows an error with a reload', async () => {
  const { page, allowPageErrors } = await site.visit()
  allowPageErrors(/status of 404|dynamically imported module/)
  await registerByApi(page, createPerson())
  // An idle page loads this code ahead.
  const part = '**/assets/commands-*.js'
  await page.route(part, (route) => route.fulfill({ status: 404 }))
  await page.goto('/playground')
  await see(page.getByRole('link', { name: 'Choose a model' }))
  await page.keyboard.press('Control+k')
  await see(page.getByText('Something went wrong on this page.'))
  await page.unroute(part)
  await page.getByRole('button', { name: 'Try again' }).click()
  await see(page.getByRole('link', { name: 'Choose a model' }))
  await page.keyboard.press('Control+k')
  await see(page.getByRole('dialog', { name: 'Search or jump to…' }))

  await page.route('**/assets/usage-page-*.js', (route) => route.fulfill({ status: 404 }))
  await page.goto('/usage')
  await see(page.getByText('Something went wrong on this page.'))
  expect(await page.getByRole('main').count()).toBe(1)
})

test('a card added before the list of cards has loaded is not confused with existing cards', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  await page.goto('/billing')
  await page.getByRole('button', { name: 'Add a card' }).click()
  await enterCard(page)
  await see(page.getByText(/^Saved /))

  let answer = () => {}
  const held = new Promise<void>((resolve) => (answer = resolve))
  await page.route('**/v1/billing/payment-methods', async (route) => {
    await held
    await route.continue()
  })
  await page.reload()
  await page.getByRole('button', { name: 'Add a card' }).click()
  answer()
  await page.waitForURL('**/sandbox/billing/checkout/**')
  const known = await page.evaluate(() => sessionStorage.getItem('billing.known-cards'))
  expect(JSON.parse(known ?? '')).toHaveLength(1)
})

test('the offline notice appears and disappears', async () => {
  const { page, context, allowPageErrors } = await site.visit()
  // Chromium before 154 remembers the failed import, so the router loads the page again.
  allowPageErrors(/ERR_INTERNET_DISCONNECTED|dynamically imported module/)
  await registerByApi(page, createPerson())
  await page.goto('/catalog')
  await see(page.getByRole('link', { name: /tiny/i }))
  await context.setOffline(true)
  await page.getByRole('link', { name: 'Organization', exact: true }).click()
  await see(page.getByText(away))
  await context.setOffline(false)
  await see(page.getByRole('region', { name: 'People' }))
  await seeGone(page.getByText(away))

  // What has failed for good comes back too, without a click.
  const billing = '**/v1/billing/**'
  await page.route(billing, (route) => route.abort('internetdisconnected'))
  await page.getByRole('link', { name: 'Billing', exact: true }).click()
  const failed = page.getByText(/^The server is not responding/)
  await expect.poll(() => failed.count()).toBeGreaterThan(1)
  await page.unroute(billing)
  await expect.poll(() => failed.count()).toBe(0)
  await see(page.getByRole('button', { name: 'Add a card' }))
  await seeGone(page.getByText(away))
})

test('an ended session redirects to the sign-in page, and signing in returns to the page', async () => {
  const { page, context, allowPageErrors } = await site.visit()
  allowPageErrors(/status of 401/)
  const person = createPerson()
  await registerByApi(page, person)
  await page.goto('/usage?from=2026-01-01&to=2026-01-31')
  await see(heading(page, 'Usage by day'))
  // A request in flight would notice the end of the session before the click.
  await page.waitForLoadState('networkidle')

  // The session ends on the server; the browser keeps the cookie.
  const cookies = await context.cookies()
  await page.request.post('/v1/user/logout')
  await context.addCookies(cookies)
  await page.getByRole('link', { name: 'Catalog', exact: true }).click()
  await page.waitForURL('**/sign-in?return_to=**')
  await signIn(page, person)
  await page.waitForURL('**/catalog')
  await see(page.getByRole('link', { name: /tiny/i }))

  // The return path keeps search and hash.
  await page.request.post('/v1/user/logout')
  await page.goto('/usage?from=2026-01-01&to=2026-01-31')
  await page.waitForURL('**/sign-in?return_to=**')
  await signIn(page, person)
  await page.waitForURL('**/usage?from=2026-01-01&to=2026-01-31')
})

test('after an ended session the sign-in page shows the reason and the email, and the form keeps its entries', async () => {
  const { page, context, allowPageErrors } = await site.visit()
  allowPageErrors(/status of 401/)
  const person = createPerson()
  await registerByApi(page, person)
  await page.goto('/organization?tab=settings')
  await page.getByLabel('Name').fill('Difference Engines')
  await page.getByLabel('Description').fill('Half-written')
  const cookies = await context.cookies()
  await page.request.post('/v1/user/logout')
  await context.addCookies(cookies)
  await page.getByRole('button', { name: 'Save' }).click()
  await see(page.getByText('Your session has ended.'))
  expect(await page.getByLabel('Email').inputValue()).toBe(person.email)
  await page.getByLabel('Password', { exact: true }).fill(person.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL('**/organization?tab=settings')
  const valueOf = (label: string) => page.getByLabel(label).inputValue()
  await expect.poll(() => valueOf('Name')).toBe('Difference Engines')
  await expect.poll(() => valueOf('Description')).toBe('Half-written')
  await page.getByRole('button', { name: 'Save' }).click()
  await see(page.getByText('Saved'))
})

test('the deployment limit and what to do show before deploying', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  const id = await deployByApi(page)
  await page.goto('/catalog')
  await page.getByRole('link', { name: /tiny/i }).first().click()
  await page.getByRole('button', { name: 'Deploy', exact: true }).first().click()
  const dialog = page.getByRole('dialog')
  await see(dialog.getByText(/already reserved 1 of 1 instances/))
  expect(await dialog.getByRole('button', { name: 'Deploy', exact: true }).isDisabled()).toBe(true)
  await see(dialog.getByRole('link', { name: 'Go to deployments' }))
  await dialog.getByRole('link', { name: 'Go to billing' }).click()
  await see(page.getByText('1 of 1'))
  await see(page.getByRole('term').filter({ hasText: /^Instances$/ }))
  await see(page.getByRole('button', { name: 'Activate billing' }))
  await page.request.delete(`/api/v1/model-deployments/${id}`)
  await waitForStatus(page.request, id, 'terminated')

  // The page of a terminated deployment leads on.
  await page.goto(`/deployments/${id}`)
  await see(page.getByText(/^Terminated .*\d{4}/))
  await see(page.getByRole('button', { name: 'Deploy again' }))
  await page.getByRole('link', { name: 'See logs' }).click()
  await see(page.getByRole('log', { name: 'Engine log' }).getByText(/context of/))
})

test('the only card becomes the default, and removing a charged card says what is charged then', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  await page.goto('/billing')
  await page.getByRole('button', { name: 'Add a card' }).click()
  await enterCard(page)
  const card = page.getByRole('listitem').filter({ hasText: '4242' })
  await see(card.getByText('Default', { exact: true }))
  await see(card.getByRole('button', { name: /^Remove/ }))
  await page.getByRole('button', { name: 'Activate billing' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Activate billing' }).click()
  await see(card.getByText('Your plan is charged to this card.'))
  const dialog = page.getByRole('dialog')
  await card.getByRole('button', { name: /^Remove/ }).click()
  await see(dialog.getByText(/Add one before the next invoice is due/))
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'Add a card' }).click()
  await enterCard(page, '5555 5555 5555 4444')
  await card.getByRole('button', { name: /^Remove/ }).click()
  await see(dialog.getByText(/charged to your newest other card instead/))
  await dialog.getByRole('button', { name: 'Remove card' }).click()
  await seeGone(card)
  await see(
    page.getByRole('listitem').filter({ hasText: '4444' }).getByText('Your plan is charged to this card.'),
  )
})

test('a card that requires verification for every payment is declined with a remedy', async () => {
  const { page, allowPageErrors } = await site.visit()
  allowPageErrors(/status of 409/)
  await registerByApi(page, createPerson())
  await page.goto('/billing')
  await page.getByRole('button', { name: 'Add a card' }).click()
  await enterCard(page, '4000 0027 6000 3184', true)
  await see(page.getByText(/^Saved /))
  await page.getByRole('button', { name: 'Activate billing' }).click()
  await see(page.getByText(/The .*10\.00 of trial credit that is left ends/))
  await page.getByRole('dialog').getByRole('button', { name: 'Activate billing' }).click()
  await see(page.getByText(/Your bank must approve each payment with this card/))
  await see(page.getByRole('button', { name: 'Use another card' }))
})

test('unknown URLs show a page with a link to continue', async () => {
  const { page, allowPageErrors } = await site.visit()
  allowPageErrors(/status of (400|404|422)/)
  await registerByApi(page, createPerson())
  await page.goto('/no/such/page')
  await see(heading(page, 'Page not found'))
  await see(page.getByRole('navigation').getByRole('link', { name: 'Catalog' }))
  await page.goto('/deployments/0199a0b1-0000-7000-8000-000000000000')
  await see(heading(page, 'Deployment not found'))
  await page.goto('/catalog/0199a0b1-0000-7000-8000-000000000000')
  await see(heading(page, 'Model not found'))
  await page.goto('/invitations/no-such-token')
  await see(heading(page, 'Invitation not found'))
  await page.goto('/reset-password?token=no-such-token')
  await page.getByLabel('New password', { exact: true }).fill('a long enough password')
  await page.getByRole('button', { name: 'Set password' }).click()
  await see(heading(page, 'This link does not work'))
})

test('every page works in a browser whose language is no valid tag and whose storage throws', async () => {
  const { page, context } = await site.visit()
  await registerByApi(page, createPerson())
  await context.addInitScript(() => {
    // Chromium under LANG=C
    Object.defineProperty(navigator, 'languages', { get: () => ['en-US@posix'] })
    Object.defineProperty(window, 'sessionStorage', {
      get() {
        throw new DOMException('The operation is insecure.', 'SecurityError')
      },
    })
  })
  for (const path of ['deployments', 'catalog', 'usage', 'billing', 'playground', 'profile']) {
    await page.goto(`/${path}`)
    await see(page.getByRole('main').getByRole('heading', { level: 1 }))
    await page.waitForLoadState('networkidle')
    expect(await page.getByRole('main').getByRole('alert').count()).toBe(0)
  }
})

test('an exception in a page shows an error with a way back', async () => {
  const { page, allowPageErrors } = await site.visit()
  allowPageErrors(/Cannot read properties|is not iterable|undefined/)
  await registerByApi(page, createPerson())
  await page.route('**/v1/billing/usage-summary', (route) => route.fulfill({ json: {} }))
  await page.goto('/billing')
  await see(page.getByText('Something went wrong on this page.'))
  await page.getByRole('link', { name: 'Go to deployments' }).click()
  await see(heading(page, 'Deployments'))
})
