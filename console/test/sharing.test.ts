import type { Locator, Page } from 'playwright-core'
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
  waitForStatus,
} from './support/steps.ts'

const site = useConsole(startConsoleTestServer)

test('an owner shares a deployment; a member finds it under Team, calls it, and sees only what they may do', async () => {
  const { page: owner } = await site.visit()
  await registerByApi(owner, createPerson())
  const id = await deployByApi(owner)
  const { page } = await site.visit()
  await joinByApi(owner, page, 'viewer')
  await page.goto('/deployments')
  await page.getByRole('radio', { name: 'Team' }).click()
  await see(heading(page, 'No shared deployments'))

  await owner.goto(`/deployments/${id}`)
  await owner.getByRole('button', { name: 'Share', exact: true }).click()
  const dialog = owner.getByRole('dialog')
  await see(dialog.getByText(/^Every member of Analytical Engines may call the model, viewers included/))
  await see(dialog.getByText(/^Analytical Engines pays for it, as before/))
  await dialog.getByRole('button', { name: 'Share', exact: true }).click()
  await see(owner.getByRole('button', { name: 'Stop sharing' }))

  await page.reload()
  await see(page.getByRole('cell').getByText('Ada Lovelace'))
  await page.getByRole('link', { name: 'berth-tiny' }).click()
  await see(page.getByText('Shared with Analytical Engines'))
  await see(page.getByRole('definition').getByText(/^Ada Lovelace \(ada-/))
  const tabs = page.getByRole('tab')
  expect(await tabs.allInnerTexts()).toEqual(['Overview', 'Metrics', 'Activity'])
  for (const name of ['Terminate', 'Stop sharing', 'Edit scaling and sleep']) {
    expect(await page.getByRole('button', { name }).count(), name).toBe(0)
  }
  expect(await page.getByText('Cost so far').count()).toBe(0)
  const { inference_model_uid: uid } = await callByApi<{ inference_model_uid: string }>(
    page.request,
    'GET',
    `/api/v1/model-deployments/${id}?scope=organization`,
  )
  await see(page.getByText(`"model": "${uid}"`))

  await page.getByRole('link', { name: 'Open in playground' }).click()
  const choice = page.getByLabel('Deployment')
  await expect
    .poll(() => choice.getByRole('option').allInnerTexts())
    .toEqual([expect.stringMatching(/· shared by Ada Lovelace$/)])
  const message = page.getByRole('textbox', { name: 'Message' })
  await message.fill('Who are you?')
  await message.press('Enter')
  await see(page.getByText(/\d+ tokens in · \d+ out/))

  // The command palette has it too, with its owner, and only the commands that the member may use.
  const palette = page.getByRole('dialog', { name: 'Search or jump to…' })
  await page.keyboard.press('Control+k')
  await see(palette.getByRole('option', { name: 'berth-tiny · Ada Lovelace Shared · Running' }))
  await page.keyboard.type('berth-tiny ada')
  await see(palette.getByText('Deployments', { exact: true }))
  await see(palette.getByRole('option', { name: 'berth-tiny · Ada Lovelace: Metrics' }))
  await see(palette.getByRole('option', { name: 'berth-tiny · Ada Lovelace: Open in playground' }))
  for (const action of ['Logs', 'Terminate']) {
    const name = `berth-tiny · Ada Lovelace: ${action}`
    expect(await palette.getByRole('option', { name }).count(), action).toBe(0)
  }
  await page.keyboard.press('Enter')
  await page.waitForURL(`**/deployments/${id}`)
  await seeGone(palette)

  await owner.getByRole('tab', { name: 'Metrics' }).click()
  await see(owner.getByRole('row', { name: /^Mary Somerville .* 1 / }))
  await page.goto(`/deployments/${id}?tab=metrics`)
  await see(heading(page, 'Your requests'))

  await owner.getByRole('button', { name: 'Stop sharing' }).click()
  await dialog.getByRole('button', { name: 'Stop sharing' }).click()
  await see(owner.getByRole('button', { name: 'Share', exact: true }))
  await page.goto('/deployments?whose=team')
  await see(heading(page, 'No shared deployments'))
})

test('an invited colleague first sees what the team shares, by its alias, and reaches an answer in two steps', async () => {
  const { page: owner } = await site.visit()
  await registerByApi(owner, createPerson())
  const { page } = await site.visit()
  await joinByApi(owner, page, 'viewer')
  await page.goto('/deployments')
  await see(heading(page, 'Nothing is shared with you yet'))

  await owner.goto('/catalog/berth-tiny')
  await owner.getByRole('button', { name: 'Deploy', exact: true }).first().click()
  const dialog = owner.getByRole('dialog')
  await dialog.getByLabel('Name (optional)').fill('two words')
  await see(dialog.getByText(/^Use up to 128 letters/))
  await dialog.getByLabel('Name (optional)').fill('assistant')
  await dialog.getByRole('button', { name: 'Deploy', exact: true }).click()
  await see(heading(owner, 'assistant'))
  await see(owner.getByText(/berth-tiny · /))
  const id = new URL(owner.url()).pathname.split('/').at(-1)!
  await waitForStatus(owner.request, id, 'running')
  await callByApi(owner.request, 'PATCH', `/api/v1/model-deployments/${id}`, { shared_with: 'organization' })
  const other = await deployByApi(owner)
  await deployByApi(owner)

  await page.reload()
  await see(heading(page, 'Your team shares 1 model'))
  await see(page.getByText(/ · Owner: Ada Lovelace/))
  expect(await page.getByRole('button', { name: 'Deploy' }).count()).toBe(0)
  // The only model shows at once how programs call it.
  await see(page.getByLabel('curl code', { exact: true }).getByText('"model": "assistant"'))
  await see(page.getByRole('button', { name: 'Create a session for scripts' }))
  await page.getByRole('button', { name: 'Call assistant with the API' }).click()
  await seeGone(page.getByLabel('curl code', { exact: true }))

  // From there, two clicks lead to an answer; Enter counts as one, typing does not.
  let clicks = 0
  const click = (act: Promise<void>) => {
    clicks += 1
    return act
  }
  await click(page.getByRole('link', { name: 'Chat with assistant' }).click())
  const message = page.getByRole('textbox', { name: 'Message' })
  await expect.poll(() => message.evaluate((field) => field === document.activeElement)).toBe(true)
  await page.keyboard.type('Who are you?')
  await click(page.keyboard.press('Enter'))
  await see(page.getByText(/\d+ tokens in · \d+ out/))
  console.log(`An invited colleague reaches an answer of a shared model in ${clicks} clicks.`)
  expect(clicks).toBeLessThanOrEqual(2)
  await see(heading(page, /^assistant · berth-tiny · .+ · shared by Ada Lovelace$/))
  await page.getByRole('button', { name: 'View code' }).click()
  await see(page.getByText('"model": "assistant"'))

  // Everywhere else too; two that are alike have different names.
  await owner.goto('/deployments')
  const actions = owner.getByRole('button', { name: /^Actions for/ })
  await see(owner.getByRole('link', { name: 'assistant', exact: true }))
  const names = await actions.evaluateAll((buttons) => buttons.map((one) => one.getAttribute('aria-label')))
  expect(names).toEqual([
    expect.stringMatching(/^Actions for berth-tiny …/),
    `Actions for berth-tiny …${other.slice(-6)}`,
    'Actions for assistant',
  ])
  expect(new Set(names).size).toBe(3)
  await owner.goto(`/deployments/${id}?tab=use`)
  await see(owner.getByText('"model": "assistant"'))
  expect(await owner.title()).toMatch(/^(\(\d+\) )?assistant \(/)
  await owner.getByRole('button', { name: 'Terminate' }).click()
  await see(heading(owner, 'Terminate assistant?'))
  await owner.keyboard.press('Escape')
  await owner.keyboard.press('Control+k')
  await see(owner.getByRole('option', { name: 'Sign out' }))
  await owner.keyboard.type('assis')
  await see(owner.getByRole('option', { name: /^assistant / }))
  await see(owner.getByRole('option', { name: 'assistant: Sleep' }))
  await owner.keyboard.type('tant stop')
  await owner.getByRole('option', { name: 'assistant: Stop sharing' }).click()
  await see(heading(owner, 'Stop sharing assistant?'))
  await owner.goto('/usage?group=deployment')
  await see(owner.getByRole('rowheader', { name: /^assistant/ }))
})

test('a page whose deployment is no longer shared says so; a removed member learns it once, also after a reload', async () => {
  const { page: owner } = await site.visit()
  await registerByApi(owner, createPerson())
  const id = await deployByApi(owner)
  const path = `/api/v1/model-deployments/${id}`
  await callByApi(owner.request, 'PATCH', path, { shared_with: 'organization' })
  const notice = /^You are no longer a member of Analytical Engines\./
  const members: Page[] = []
  for (const name of ['Mary Somerville', 'Grace Hopper']) {
    const { page, allowPageErrors } = await site.visit()
    allowPageErrors(/status of 404/)
    await page.clock.install()
    await joinByApi(owner, page, 'member', name)
    await page.goto(`/deployments/${id}`)
    await see(page.getByText('Shared with Analytical Engines'))
    members.push(page)
  }
  const [first, second] = members as [Page, Page]

  await callByApi(owner.request, 'PATCH', path, { shared_with: null })
  const pollUntil = (target: Locator, page: Page) =>
    expect
      .poll(async () => {
        await page.clock.fastForward('00:16')
        return target.count()
      })
      .toBeGreaterThan(0)
  await pollUntil(heading(first, 'You can no longer see this deployment'), first)
  expect(await first.getByRole('button', { name: 'Open in playground' }).count()).toBe(0)
  expect(await first.getByText(notice).count()).toBe(0)

  // The second member is removed while their page is open, and the first before they reload.
  await callByApi(owner.request, 'PATCH', path, { shared_with: 'organization' })
  await second.reload()
  await see(second.getByText('Shared with Analytical Engines'))
  const list = await callByApi<{ id: number; role: string }[]>(
    owner.request,
    'GET',
    '/v1/organization/members',
  )
  for (const member of list.filter(({ role }) => role === 'member')) {
    await callByApi(owner.request, 'DELETE', `/v1/organization/members/${member.id}`)
  }
  await pollUntil(second.getByText(notice), second)
  await second.waitForURL('**/deployments')
  await see(heading(second, 'Deploy your first model'))
  await first.reload()
  await see(first.getByText(notice))
  await first.getByRole('button', { name: 'Close' }).click()
  await first.goto('/catalog')
  await see(heading(first, 'Catalog'))
  await first.waitForLoadState('networkidle')
  expect(await first.getByText(notice).count()).toBe(0)
})

test('an admin sees all deployments of the organization under Team, and shares and terminates them', async () => {
  const { page: admin } = await site.visit()
  await registerByApi(admin, createPerson())
  const { page: member } = await site.visit()
  await joinByApi(admin, member, 'member')
  const id = await deployByApi(member)

  await admin.goto('/deployments?whose=team')
  await see(admin.getByText('Mary Somerville', { exact: true }))
  await admin.getByRole('link', { name: 'berth-tiny' }).click()
  await see(admin.getByRole('tab', { name: 'Logs' }))
  // Admins call a deployment of others only when it is shared.
  expect(await admin.getByRole('tab').allInnerTexts()).toEqual([
    'Overview',
    'Metrics',
    'Logs',
    'Activity',
    'Settings',
  ])
  expect(await admin.getByRole('link', { name: 'Open in playground' }).count()).toBe(0)
  await admin.getByRole('button', { name: 'Share', exact: true }).click()
  await admin.getByRole('dialog').getByRole('button', { name: 'Share' }).click()
  await see(admin.getByRole('link', { name: 'Open in playground' }))

  await admin.goto('/deployments?whose=team')
  await admin.getByRole('button', { name: 'Actions for berth-tiny' }).click()
  await admin.getByRole('menuitem', { name: 'Terminate' }).click()
  await admin.getByRole('dialog').getByRole('button', { name: 'Terminate' }).click()
  await waitForStatus(member.request, id, 'terminated')
  await seeGone(admin.getByText('Mary Somerville', { exact: true }))
})
