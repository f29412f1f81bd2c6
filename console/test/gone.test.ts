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
} from './support/steps.ts'

const site = useConsole(startConsoleTestServer)

test('each page of a thing says so when the thing is gone while the page is open, and when it opens later', async () => {
  const { page: owner } = await site.visit()
  await registerByApi(owner, createPerson())
  const { page: first, context, allowPageErrors } = await site.visit()
  allowPageErrors(/status of 40[34]/)
  await context.clock.install()
  const userId = await joinByApi(owner, first, 'admin')
  const deployment = await deployByApi(owner)
  const { id: model } = await callByApi<{ id: string }>(owner.request, 'POST', '/api/v1/deployable-models', {
    huggingface: 'harbour/Pilot-GGUF',
    model_name: 'pilot',
  })
  const things: { path: string; shown: (page: Page) => Promise<void>; gone: string; unknown: string }[] = [
    {
      path: `/deployments/${deployment}`,
      shown: (page) => see(page.getByRole('tab', { name: 'Logs' })),
      gone: 'You can no longer see this deployment',
      unknown: 'Deployment not found',
    },
    {
      path: `/usage/requests?deployment=${deployment}`,
      shown: (page) => see(heading(page, 'No requests')),
      gone: 'You can no longer see this deployment',
      unknown: 'Deployment not found',
    },
    {
      path: `/catalog/${model}`,
      shown: (page) => see(page.getByRole('region', { name: 'Variants' })),
      gone: 'This model is no longer in the catalog',
      unknown: 'Model not found',
    },
  ]
  const pages: Page[] = []
  for (const { path, shown } of things) {
    const page = await context.newPage()
    await page.goto(path)
    await shown(page)
    pages.push(page)
  }

  // A member sees neither the deployments of others that aren't shared, nor their requests.
  const members = await callByApi<{ id: number; user_id: number }[]>(
    owner.request,
    'GET',
    '/v1/organization/members',
  )
  const member = members.find(({ user_id }) => user_id === userId)
  await callByApi(owner.request, 'PATCH', `/v1/organization/members/${member?.id}`, { role: 'member' })
  await callByApi(owner.request, 'DELETE', `/api/v1/deployable-models/${model}`)
  await context.clock.fastForward('02:00')
  for (const [index, { path, gone, unknown }] of things.entries()) {
    const page = pages[index]!
    // The console fetches again when a tab becomes visible after a while.
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange', { bubbles: true })))
    await see(heading(page, gone))
    expect.soft(await page.getByRole('button', { name: 'Deploy' }).count(), path).toBe(0)
    await page.reload()
    await see(heading(page, unknown))
  }
})
