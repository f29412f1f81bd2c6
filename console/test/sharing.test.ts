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
  await see(page.getByText('Owner: Ada Lovelace'))
  await page.getByRole('link', { name: 'berth-tiny' }).click()
  await see(page.getByText('Shared with Analytical Engines'))
  await see(page.getByRole('definition').getByText(/^Ada Lovelace \(ada-/))
  const tabs = page.getByRole('tab')
  expect(await tabs.allInnerTexts()).toEqual(['Overview', 'Metrics', 'API'])
  for (const name of ['Terminate', 'Stop sharing', 'Set minimums']) {
    expect(await page.getByRole('button', { name }).count(), name).toBe(0)
  }
  expect(await page.getByText('Cost so far').count()).toBe(0)
  await page.getByRole('tab', { name: 'API' }).click()
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
    .toEqual([expect.stringMatching(/· Ada Lovelace$/)])
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
  await page.goto('/deployments?team=yes')
  await see(heading(page, 'No shared deployments'))
})

test('an admin sees all deployments of the organization under Team, and shares and terminates them', async () => {
  const { page: admin } = await site.visit()
  await registerByApi(admin, createPerson())
  const { page: member } = await site.visit()
  await joinByApi(admin, member, 'member')
  const id = await deployByApi(member)

  await admin.goto('/deployments?team=yes')
  await see(admin.getByText('Owner: Mary Somerville'))
  await admin.getByRole('link', { name: 'berth-tiny' }).click()
  await see(admin.getByRole('tab', { name: 'Logs' }))
  // Admins call a deployment of others only when it is shared.
  expect(await admin.getByRole('tab').allInnerTexts()).toEqual(['Overview', 'Metrics', 'Logs'])
  expect(await admin.getByRole('link', { name: 'Open in playground' }).count()).toBe(0)
  await admin.getByRole('button', { name: 'Share', exact: true }).click()
  await admin.getByRole('dialog').getByRole('button', { name: 'Share' }).click()
  await see(admin.getByRole('link', { name: 'Open in playground' }))

  await admin.goto('/deployments?team=yes')
  await admin.getByRole('button', { name: 'Actions for berth-tiny' }).click()
  await admin.getByRole('menuitem', { name: 'Terminate' }).click()
  await admin.getByRole('dialog').getByRole('button', { name: 'Terminate' }).click()
  await waitForStatus(member.request, id, 'terminated')
  await seeGone(admin.getByText('Owner: Mary Somerville'))
})
