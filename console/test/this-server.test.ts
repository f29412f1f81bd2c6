import { expect, test } from 'vitest'
import { openApp } from '../../server/test/support/second-factors.ts'
import { useConsole } from './support/console.ts'
import { startConsoleTestServer } from './support/test-server.ts'
import {
  addAuthenticator,
  callByApi,
  createPerson,
  deployByApi,
  heading,
  registerByApi,
  see,
  seeGone,
  waitForStatus,
} from './support/steps.ts'

const site = useConsole(startConsoleTestServer)

/** Opens a page of an operator with a second factor. */
async function openAsOperator() {
  const visitor = await site.visit()
  const person = createPerson('Grace Hopper', 'Operations')
  await registerByApi(visitor.page, person)
  await addAuthenticator(visitor.page, person)
  await site.server.admin('operator', 'grant', person.email)
  return { ...visitor, person }
}

test('an operator sees in one click what runs where and how much memory is free, and pages stay fresh', async () => {
  const { page: tenant } = await site.visit()
  const organization = `Engines ${Date.now()}`
  await registerByApi(tenant, createPerson('Ada Lovelace', organization))
  const id = await deployByApi(tenant)
  const { page } = await openAsOperator()
  await page.goto('/deployments')
  let clicks = 0
  await page.getByRole('link', { name: 'This server' }).click()
  clicks++
  const table = page.getByRole('region', { name: 'What runs here' })
  const row = table.getByRole('row').filter({ hasText: organization })
  await see(row.getByText('berth-tiny'))
  await see(row.getByText('Running'))
  const free = page.getByRole('region', { name: 'Instance types' }).getByRole('row').last()
  expect(await free.getByRole('cell').last().innerText()).toMatch(/^[\d.,]+\s[MG]iB$/)
  console.log(`What runs where, how much memory is free: ${clicks} click`)
  expect(clicks).toBe(1)

  // The pages belong to no organization, and the operator finds back.
  expect(await page.getByRole('navigation').getByRole('link').allInnerTexts()).toEqual([
    'Machines',
    'Waiting',
    'Weights',
    'Health',
    'Organizations',
    'Findings',
  ])
  await callByApi(tenant.request, 'DELETE', `/api/v1/model-deployments/${id}`)
  await waitForStatus(tenant.request, id, 'terminated')
  await seeGone(row)
  await page.getByRole('link', { name: 'Back to organization' }).click()
  await see(heading(page, 'Deployments'))
})

test('for everybody else there is no such page, no link and no request', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  const sent: string[] = []
  page.on('request', (request) => sent.push(request.url()))
  await page.goto('/deployments')
  await see(heading(page, 'Deploy your first model'))
  expect(await page.getByText('This server').count()).toBe(0)
  await page.keyboard.press('Control+k')
  await page.getByRole('dialog').getByRole('combobox').fill('server')
  await see(page.getByRole('dialog').getByRole('option').or(page.getByText('Nothing found.')))
  expect(await page.getByRole('option', { name: /This server/ }).count()).toBe(0)
  for (const path of ['/server', '/server/findings', '/server/organizations?organization=1']) {
    await page.goto(path)
    await see(heading(page, 'Page not found'))
    await see(page.getByRole('navigation').getByRole('link', { name: 'Catalog' }))
  }
  expect(sent.filter((url) => url.includes('/v1/installation/'))).toEqual([])
})

test('an operator sets up a second factor first, and a grant that has ended shows nothing more', async () => {
  const { page, allowPageErrors } = await site.visit()
  allowPageErrors(/status of 403/)
  const person = createPerson('Grace Hopper', 'Operations')
  await registerByApi(page, person)
  await site.server.admin('operator', 'grant', person.email)
  await page.goto('/server/weights')
  await see(heading(page, 'Operators need a second factor'))
  await page.getByLabel('Password', { exact: true }).fill(person.password)
  await page.getByRole('button', { name: 'Continue' }).click()
  await see(page.getByRole('img', { name: 'QR code for your authenticator app' }))
  const key = (await page.locator('code').last().textContent()) ?? ''
  const app = openApp(`otpauth://totp/Berth?issuer=Berth&secret=${key.replaceAll(' ', '')}`)
  await page.getByLabel('Code').fill(app.code())
  await page.getByRole('button', { name: 'Turn on' }).click()
  await page.getByRole('button', { name: 'I have saved them' }).click()
  await see(heading(page, 'Weights'))
  await site.server.admin('operator', 'revoke', person.email)
  await see(heading(page, 'Page not found'))
  expect(await page.getByText('This server').count()).toBe(0)
})

test('an organization learns of each visit, and of no more; its list has all, with a page for each', async () => {
  const { page: tenant } = await site.visit()
  const organization = `Engines ${Date.now()}`
  await registerByApi(tenant, createPerson('Ada Lovelace', organization))
  const { page, allowPageErrors } = await openAsOperator()
  allowPageErrors(/status of 404/)
  await page.goto('/server/organizations')
  await page.getByRole('link', { name: organization }).click()
  await see(heading(page, organization))
  await see(page.getByText(`The audit log of ${organization} says that you looked at this page.`))
  await see(page.getByText('Nothing of this organization has hardware or waits for it.'))
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange', { bubbles: true })))
  await page.getByRole('link', { name: 'Organizations' }).last().click()
  await see(page.getByRole('link', { name: organization }))
  const log = await callByApi<{ items: { action: string }[] }>(
    tenant.request,
    'GET',
    '/v1/organization/audit-log',
  )
  expect(log.items.filter(({ action }) => action === 'organization.seen_by_operator')).toHaveLength(1)
  await page.goto('/server/organizations?organization=999999')
  await see(heading(page, 'Organization not found'))
})

test('findings have their commands to copy, and the first page says that there are some', async () => {
  const { page, context } = await openAsOperator()
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const command = 'npm run admin -- mail test <address>'
  await page.route('**/v1/installation/findings', async (route) => {
    const response = await route.fetch()
    const { items } = await response.json()
    const finding = {
      subject: 'letters',
      state: '2 failed today',
      remedy: `Run \`${command}\` and read its error.`,
    }
    await route.fulfill({ response, json: { items: [finding, ...items] } })
  })
  await page.goto('/server')
  await page.getByRole('link', { name: 'See findings' }).click()
  const item = page.getByRole('listitem').filter({ hasText: 'letters' })
  await see(item.getByText('Problem'))
  await item.getByRole('button', { name: `Copy ${command}` }).click()
  await see(item.getByRole('button', { name: 'Copied' }))
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(command)
  await see(page.getByRole('listitem').filter({ hasText: 'database' }).getByText('Fine'))
})
