import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { useConsole } from './support/console.ts'
import { startConsoleTestServer } from './support/test-server.ts'
import { callByApi, createPerson, registerByApi, see } from './support/steps.ts'

/** Programs of a host with a GPU, which llama-server can use. Engines' account must be able to run them. */
const folder = await mkdtemp(join(tmpdir(), 'berth-gpu-'))
await chmod(folder, 0o755)
const programs = {
  'nvidia-smi': "echo '0, GPU-0, NVIDIA L4, 23034, 580.95.05'",
  'llama-server': `case "$1" in
    --version) echo 'version: 10964 (0123abc)' ;;
    --list-devices) printf 'Available devices:\\n  CUDA0: NVIDIA L4 (23034 MiB, 22000 MiB free)\\n' ;;
  esac`,
}
for (const [name, script] of Object.entries(programs)) {
  await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`)
  await chmod(join(folder, name), 0o755)
}
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
