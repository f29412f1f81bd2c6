import { expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import { useConsole } from './support/console.ts'
import { startConsoleTestServer } from './support/test-server.ts'
import { createPerson, deployByApi, joinByApi, registerByApi, see, seeGone } from './support/steps.ts'

const site = useConsole(startConsoleTestServer)

const dialog = (page: Page) => page.getByRole('dialog')
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()

async function choose(page: Page, team: string, action: string): Promise<void> {
  await press(page, `Actions for ${team}`)
  await page.getByRole('menuitem', { name: action }).click()
}

const readTeams = async (page: Page) => (await page.request.get('/v1/organization/teams')).json()

test('an admin creates a team, adds a member, shares a deployment with it, limits it, and deletes it', async () => {
  const { page, allowPageErrors } = await site.visit()
  allowPageErrors(/status of 409/)
  await registerByApi(page, createPerson())
  await joinByApi(page, (await site.visit()).page, 'viewer')
  await page.goto('/organization?tab=teams')
  await see(page.getByText('No teams yet.'))
  await press(page, 'Add a team')
  await dialog(page).getByLabel('Name').fill('Research')
  await dialog(page).getByRole('button', { name: 'Add a team' }).click()
  await see(page.getByText('0 members'))
  await choose(page, 'Research', 'Members')
  await see(dialog(page).getByText('Nobody is in this team yet.'))
  await dialog(page).getByLabel('Find members to add').fill('Mary')
  await dialog(page).getByRole('button', { name: /^Add / }).click()
  await see(dialog(page).getByRole('button', { name: /^Remove / }))
  await page.keyboard.press('Escape')
  await see(page.getByText('1 member', { exact: true }))
  await choose(page, 'Research', 'Rename')
  await dialog(page).getByLabel('Name').fill('Laboratory')
  await press(page, 'Save')
  await seeGone(dialog(page))
  const [team] = await readTeams(page)
  expect(team).toMatchObject({ name: 'Laboratory', members: [{ name: 'Mary Somerville' }] })

  const id = await deployByApi(page)
  await page.goto(`/deployments/${id}`)
  await press(page, 'Share')
  await dialog(page).getByRole('radio', { name: 'Some teams' }).check()
  await see(dialog(page).getByText('Choose at least one team.'))
  await dialog(page).getByRole('checkbox', { name: 'Laboratory' }).check()
  await dialog(page).getByRole('button', { name: 'Share', exact: true }).click()
  await see(page.getByText(/^Shared with some of /).first())
  await page.getByRole('tab', { name: 'Settings' }).click()
  await page.getByRole('button', { name: 'Terminate' }).first().click()
  await see(dialog(page).getByText('Some teams or members of Analytical Engines may call it.'))
  expect(await dialog(page).getByText('Every member').count()).toBe(0)
  await page.keyboard.press('Escape')
  await seeGone(dialog(page))
  const deployment = await (await page.request.get(`/api/v1/model-deployments/${id}`)).json()
  expect(deployment.shared_with).toEqual({ teams: [team.id], members: [] })

  await page.goto('/billing')
  await press(page, 'Add budget')
  await dialog(page).getByLabel('For', { exact: true }).selectOption({ label: 'Team' })
  await dialog(page).getByLabel('Team', { exact: true }).selectOption({ label: 'Laboratory' })
  await dialog(page)
    .getByLabel(/^Limit for/)
    .fill('20')
  await dialog(page).getByLabel('At the limit').selectOption({ label: 'Stop new deployments' })
  await see(dialog(page).getByText(/^At the limit, its members can’t deploy anything more/))
  await dialog(page).getByRole('button', { name: 'Add budget' }).click()
  await see(page.getByText('Team Laboratory', { exact: true }))
  await page.goto('/usage')
  await page.getByLabel('Group by').selectOption({ label: 'Team' })
  await see(page.getByRole('rowheader', { name: 'No team' }))

  await page.goto('/organization?tab=teams')
  await choose(page, 'Laboratory', 'Delete')
  await dialog(page).getByRole('button', { name: 'Delete' }).click()
  await see(page.getByText('No teams yet.'))
  expect(await readTeams(page)).toEqual([])
})
