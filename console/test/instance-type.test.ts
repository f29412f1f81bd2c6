import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { useConsole } from './support/console.ts'
import { startConsoleTestServer } from './support/test-server.ts'
import { callByApi, createPerson, registerByApi, see } from './support/steps.ts'

/** A folder with a program that prints the only GPU of this host, as nvidia-smi does. */
const folder = await mkdtemp(join(tmpdir(), 'berth-gpu-'))
const program = join(folder, 'nvidia-smi')
await writeFile(program, "#!/bin/sh\necho '0, GPU-0, NVIDIA L4, 23034, 580.95.05'\n")
await chmod(program, 0o755)
afterAll(() => rm(folder, { recursive: true }))

const site = useConsole(() => startConsoleTestServer({ PATH: `${folder}:${process.env['PATH']}` }))

test.each([1440, 390])('a person chooses among the instances that fit, at %d pixels', async (width) => {
  const { page } = await site.visit({ viewport: { width, height: 800 } })
  await registerByApi(page, createPerson())
  await page.goto('/catalog/berth-tiny')
  await page.getByRole('button', { name: 'Deploy', exact: true }).first().click()
  const dialog = page.getByRole('dialog')
  const plan = dialog.getByRole('region', { name: 'Hardware and price' })
  const choice = dialog.getByLabel('Instance', { exact: true })
  await see(plan)
  expect(await choice.locator('option').allInnerTexts()).toEqual([
    'The cheapest that fits',
    'local-cpu',
    'l4-x1',
  ])
  await choice.selectOption('l4-x1')
  await see(plan.getByText('l4-x1', { exact: true }))
  // The others stay on offer.
  await choice.selectOption('local-cpu')
  await see(plan.getByText('local-cpu', { exact: true }))
  await dialog.getByRole('button', { name: 'Deploy', exact: true }).click()
  await page.waitForURL('**/deployments/*')
  const path = `/api/v1/model-deployments/${page.url().split('/').at(-1)}`
  const { requested_instance_type } = await callByApi<{ requested_instance_type: string }>(
    page.request,
    'GET',
    path,
  )
  expect(requested_instance_type).toBe('local-cpu')
})
