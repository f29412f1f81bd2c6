import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { useConsole } from './support/console.ts'
import { startConsoleServer } from './support/server.ts'
import { createPerson, heading, registerByApi, see, seeGone } from './support/steps.ts'

const site = useConsole(startConsoleServer)
const dialog = (page: Page) => page.getByRole('dialog')

async function inspect(page: Page, repository: string): Promise<void> {
  await page.goto('/catalog')
  await page.getByRole('button', { name: 'Add a model' }).click()
  await dialog(page).getByLabel('Hugging Face repository').fill(repository)
  await dialog(page).getByRole('button', { name: 'Check' }).click()
}

test('an admin pastes a URL, reads the plan, imports the model, deploys it and chats', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  await inspect(page, 'https://huggingface.co/harbour/Pilot-GGUF')
  const result = dialog(page).getByRole('region', { name: 'What this repository has' })
  await see(result.getByText(/^Runs on local-/))
  await see(result.getByText(/has 1 of 2 parts/))
  await see(result.getByText(/^Pickle files can run code/))
  expect(await dialog(page).getByLabel('Model ID').inputValue()).toBe('pilot-gguf')
  await dialog(page).getByLabel('Model ID').fill('pilot')
  await dialog(page).getByRole('button', { name: 'Add to catalog' }).click()

  await see(heading(page, /Pilot-GGUF/))
  await see(page.getByText('Your organization', { exact: true }))
  await see(page.getByText('harbour/Pilot-GGUF', { exact: false }).first())
  await page.getByRole('button', { name: 'Deploy', exact: true }).first().click()
  await dialog(page).getByRole('button', { name: 'Deploy', exact: true }).click()
  await see(page.getByText('Running', { exact: true }).first())
  await page.getByRole('link', { name: 'Open in playground' }).click()
  const message = page.getByRole('textbox', { name: 'Message' })
  await message.fill('Who are you?')
  await message.press('Enter')
  await see(page.getByText(/\d+ tokens in · \d+ out/))
})

test('an admin edits and removes a model; a taken name and a locked repository say what to do', async () => {
  const { page, allowPageErrors } = await site.visit()
  allowPageErrors(/status of 4(09|22)/)
  await registerByApi(page, createPerson())
  await inspect(page, 'harbour/Navigator')
  await see(dialog(page).getByText(/only for accounts that accepted its license/))
  await see(dialog(page).getByLabel('Hugging Face token'))

  await inspect(page, 'harbour/Pilot-GGUF')
  await dialog(page).getByLabel('Model ID').fill('berth-tiny')
  await dialog(page).getByRole('button', { name: 'Add to catalog' }).click()
  await see(dialog(page).getByText(/^The catalog has a model called "berth-tiny"/))
  await dialog(page).getByLabel('Model ID').fill('pilot')
  await dialog(page).getByRole('button', { name: 'Add to catalog' }).click()
  await see(heading(page, /Pilot-GGUF/))

  await page.getByRole('button', { name: 'Actions for Pilot-GGUF' }).click()
  await page.getByRole('menuitem', { name: 'Edit' }).click()
  await dialog(page).getByLabel('Name', { exact: true }).fill('Harbor pilot')
  await dialog(page).getByRole('button', { name: 'Save' }).click()
  await see(heading(page, /Harbor pilot/))
  await page.getByRole('button', { name: 'Actions for Harbor pilot' }).click()
  await page.getByRole('menuitem', { name: 'Remove' }).click()
  await dialog(page).getByRole('button', { name: 'Remove model' }).click()
  await see(page.getByText('Harbor pilot was removed from the catalog.'))
  await see(heading(page, 'Catalog'))
  await seeGone(page.getByRole('link', { name: /Harbor pilot/ }))
})
