import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { useConsole } from './support/console.ts'
import { startConsoleTestServer } from './support/test-server.ts'
import {
  callByApi,
  createPerson,
  deployByApi,
  heading,
  joinByApi,
  registerByApi,
  see,
  seeGone,
} from './support/steps.ts'

const site = useConsole(startConsoleTestServer)
const free = useConsole(() => startConsoleTestServer({ BILLING: 'off' }))
const dialog = (page: Page) => page.getByRole('dialog')

test('an admin adds, edits and deletes budgets, and reads what happens at the limit before saving', async () => {
  const { page, allowPageErrors } = await site.visit()
  allowPageErrors(/status of 422/)
  await registerByApi(page, createPerson())
  await deployByApi(page)
  await page.goto('/billing')
  await see(heading(page, 'No budgets yet'))

  await page.getByRole('button', { name: 'Add budget' }).click()
  await dialog(page).getByLabel('Limit for each billing period, in USD').fill('1000')
  await see(dialog(page).getByText('At the limit, nothing stops. Pages say that it is reached.'))
  await dialog(page).getByRole('button', { name: 'Add budget' }).click()
  await see(page.getByText('The whole organization'))
  await see(page.getByRole('progressbar', { name: /^0% spent: The whole organization/ }))
  await see(page.getByText(/^Forecast: \$/))

  await page.getByRole('button', { name: 'Add budget' }).click()
  const scope = dialog(page).getByLabel('For', { exact: true })
  expect(await scope.getByRole('option').allInnerTexts()).toEqual(['Member', 'Deployment'])
  await scope.selectOption({ label: 'Deployment' })
  const limit = dialog(page).getByLabel(/^Limit for/)
  await limit.fill('a lot')
  const action = dialog(page).getByLabel('At the limit')
  await action.selectOption({ label: 'Stop new deployments, put running ones to sleep' })
  await see(dialog(page).getByText(/^At the limit, this deployment falls asleep\./))
  await action.selectOption({ label: 'Stop new deployments' })
  await see(dialog(page).getByText(/^At the limit, this deployment can’t start/))
  await dialog(page).getByRole('button', { name: 'Add budget' }).click()
  await see(dialog(page).getByText(/^Must be an amount such as/))
  await limit.fill('0.00001')
  await dialog(page).getByRole('button', { name: 'Add budget' }).click()
  await see(page.getByText('Limit reached'))
  const notice = page.getByText('100% of the budget of a deployment is spent: berth-tiny')
  await see(notice)

  await page.getByRole('button', { name: 'Edit: Deployment of berth-tiny' }).click()
  await limit.fill('500')
  await dialog(page).getByRole('button', { name: 'Save' }).click()
  await see(page.getByText(/ of \$500\.00$/))
  await seeGone(notice)
  await page.getByRole('button', { name: 'Delete: Deployment of berth-tiny' }).click()
  await dialog(page).getByRole('button', { name: 'Delete budget' }).click()
  await seeGone(page.getByText('Deployment of berth-tiny', { exact: true }))
  await see(page.getByText('The whole organization'))
})

test('a member sees the budgets that limit them, with a notice on the usage page and before deploying', async () => {
  const { page: admin } = await site.visit()
  await registerByApi(admin, createPerson())
  const { page } = await site.visit()
  const userId = await joinByApi(admin, page, 'member')
  await deployByApi(page)
  const terms = { monthly_limit: '0.000001', at_limit: 'block' }
  await callByApi(admin.request, 'POST', '/v1/billing/budgets', {
    scope: 'member',
    scope_id: userId,
    ...terms,
  })
  await callByApi(admin.request, 'POST', '/v1/billing/budgets', {
    scope: 'organization',
    monthly_limit: '1000',
    at_limit: 'notify',
  })

  await page.goto('/usage')
  await see(page.getByText('100% of your budget is spent'))
  await see(
    page.getByText(/^Until an admin raises the limit or the period ends, you can’t deploy anything more/),
  )
  const list = page.getByRole('listitem').filter({ has: page.getByRole('progressbar') })
  await expect.poll(() => list.count()).toBe(2)
  expect(await list.getByRole('button').count()).toBe(0)

  await page.goto('/catalog/berth-tiny')
  await page.getByRole('button', { name: 'Deploy', exact: true }).first().click()
  await see(dialog(page).getByText('100% of your budget is spent'))
  await see(dialog(page).getByRole('region', { name: 'Hardware and price' }))
  expect(await dialog(page).getByRole('button', { name: 'Deploy', exact: true }).isDisabled()).toBe(true)
})

test('where nobody pays, the console shows budgets and usage, and speaks of no trial, card or limit', async () => {
  const { page } = await free.visit()
  await registerByApi(page, createPerson())
  await page.goto('/billing')
  await see(page.getByRole('heading', { level: 1, name: 'Budgets' }))
  await see(page.getByRole('navigation').getByRole('link', { name: 'Budgets' }))
  for (const path of ['/billing', '/usage', '/deployments', '/catalog/berth-tiny']) {
    await page.goto(path)
    await see(page.getByRole('heading', { level: 1 }))
    await see(page.getByRole('navigation').getByRole('link', { name: 'Budgets' }))
    expect(await page.getByText(/trial|\bcards?\b|invoice|of \d+ deployments/i).allTextContents()).toEqual([])
  }
})

test('the bar of the trial credit shows what is left', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  await page.route('**/v1/billing/account', async (route) => {
    const response = await route.fetch()
    const json = await response.json()
    await route.fulfill({ response, json: { ...json, trial_credit: { granted: '10', remaining: '2.5' } } })
  })
  const bar = page.getByRole('progressbar', { name: 'Trial credit left' })
  for (const path of ['/billing', '/usage']) {
    await page.goto(path)
    await see(page.getByText('$2.50 of $10.00 left'))
    expect(await bar.getAttribute('aria-valuenow'), path).toBe('25')
    const measureShare = () =>
      bar.evaluate(
        (node) => node.lastElementChild!.getBoundingClientRect().width / node.getBoundingClientRect().width,
      )
    await expect.poll(measureShare).toBeCloseTo(0.25, 1)
  }
})
