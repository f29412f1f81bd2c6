import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, onTestFinished, test, vi } from 'vitest'
import { useConsole } from './support/console.ts'
import { startCutNetwork } from './support/cut-network.ts'
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
  // The list marks the model: another deployment downloads nothing.
  await page.goto('/catalog')
  await see(page.getByRole('listitem').filter({ hasText: 'Pilot-GGUF' }).getByText('Already here'))
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
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await dialog(page).getByRole('button', { name: 'Delete model' }).click()
  await see(page.getByText('Harbor pilot was deleted from the catalog.'))
  await see(heading(page, 'Catalog'))
  await seeGone(page.getByRole('link', { name: /Harbor pilot/ }))
})

const tiny = resolve(import.meta.dirname, '../../catalog/weights/berth-tiny.gguf')
const fileName = 'My pilot.gguf'

/** Drops a file on the dialog, as a file manager does. */
async function drop(page: Page, bytes: Buffer): Promise<void> {
  const transfer = await page.evaluateHandle(
    ([name, base64]) => {
      const data = new DataTransfer()
      const decoded = Uint8Array.from(atob(base64!), (letter) => letter.charCodeAt(0))
      data.items.add(new File([decoded], name!))
      return data
    },
    [fileName, bytes.toString('base64')],
  )
  await dialog(page).getByText('Drop a GGUF file here').dispatchEvent('drop', { dataTransfer: transfer })
}

test('an admin drops a file, loses the network, closes the tab, resumes, deploys the model and chats', async () => {
  const { page, context, allowPageErrors } = await site.visit()
  allowPageErrors(/ERR_(CONNECTION|EMPTY|SOCKET)|status of 4(09|23)/)
  const network = await startCutNetwork(site.server.url)
  onTestFinished(() => network.close())
  await registerByApi(page, createPerson())
  await page.goto(`${network.url}/catalog`)
  await page.getByRole('button', { name: 'Add a model' }).click()
  network.cutAfter(1_300_000)
  await drop(page, await readFile(tiny))
  await vi.waitFor(() => expect(network.isCut()).toBe(true), 20_000)
  await see(dialog(page).getByText(/^[\d.]+\sMiB of 2\.4\sMiB uploaded\. Waiting for the server$/))
  await dialog(page).getByRole('button', { name: 'Pause' }).click()
  await see(dialog(page).getByText(/^Paused at/))
  await page.close()

  network.restore()
  const next = await context.newPage()
  const offsets: number[] = []
  next.on('request', (request) => {
    const offset = request.headers()['upload-offset']
    if (request.method() === 'PATCH' && offset !== undefined) offsets.push(Number(offset))
  })
  await next.goto(`${network.url}/catalog`)
  await next.getByRole('button', { name: 'Add a model' }).click()
  await see(dialog(next).getByText(/^[\d.]+\sMiB of 2\.4\sMiB uploaded\. Choose the same file again/))
  await dialog(next)
    .getByLabel('or choose one')
    .setInputFiles({ name: fileName, mimeType: 'application/octet-stream', buffer: await readFile(tiny) })
  const result = dialog(next).getByRole('region', { name: 'What this file has' })
  await see(result.getByText(/^Runs on local-/))
  expect(offsets).toHaveLength(1)
  expect(offsets[0]).toBeGreaterThan(0)
  expect(await dialog(next).getByLabel('Model ID').inputValue()).toBe('my-pilot')
  await dialog(next).getByRole('button', { name: 'Add to catalog' }).click()

  await see(heading(next, /My pilot/))
  await next.getByRole('button', { name: 'Deploy', exact: true }).first().click()
  await dialog(next).getByRole('button', { name: 'Deploy', exact: true }).click()
  await see(next.getByText('Running', { exact: true }).first())
  await next.getByRole('link', { name: 'Open in playground' }).click()
  const message = next.getByRole('textbox', { name: 'Message' })
  await message.fill('Who are you?')
  await message.press('Enter')
  await see(next.getByText(/\d+ tokens in · \d+ out/))
})

test('a file that is no model is refused at once, and its upload is gone', async () => {
  const { page, allowPageErrors } = await site.visit()
  allowPageErrors(/status of 4(04|22)/)
  await registerByApi(page, createPerson())
  await page.goto('/catalog')
  await page.getByRole('button', { name: 'Add a model' }).click()
  await drop(page, Buffer.from('PK an archive of several files'))
  await see(dialog(page).getByText('The file is not a GGUF file.'))
  await seeGone(dialog(page).getByRole('button', { name: 'Resume' }))
  await dialog(page).getByRole('button', { name: 'Discard' }).click()
  await see(dialog(page).getByLabel('Hugging Face repository'))
  await seeGone(dialog(page).getByRole('list', { name: 'Unfinished uploads' }))
})

test('without uploads, the dialog offers repositories only', async () => {
  await site.server.stop()
  await site.server.start({ UPLOAD_QUOTA: 'off' })
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  await page.goto('/catalog')
  await page.getByRole('button', { name: 'Add a model' }).click()
  await see(dialog(page).getByLabel('Hugging Face repository'))
  await seeGone(dialog(page).getByText('Drop a GGUF file here'))
  // An open page would ask while the server is away.
  await page.close()
  await site.server.stop()
  await site.server.start()
})
