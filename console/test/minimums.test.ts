import { setTimeout as delay } from 'node:timers/promises'
import type { Page, Request } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { useConsole } from './support/console.ts'
import { startConsoleTestServer } from './support/test-server.ts'
import { callByApi, createPerson, deployByApi, registerByApi, see, seeGone } from './support/steps.ts'

const site = useConsole(() => startConsoleTestServer({ ENGINE_MAX_SEQUENCES: '2' }))

async function restart(settings: Record<string, string>): Promise<void> {
  await site.server.stop()
  await site.server.start(settings)
}

test('a running deployment that has no room for a larger instance stays Running, with a note and without frequent polls', async () => {
  const { page } = await site.visit()
  await page.clock.install()
  const countPolls = followPolls(page)
  await registerByApi(page, createPerson())
  const id = await deployByApi(page)
  // The operator allows more sequences than the running engine has, but not memory for two engines.
  await restart({ ENGINE_MAX_SEQUENCES: '4', LOCAL_MEMORY_LIMIT: '500MiB' })
  onTestFinished(() => restart({ ENGINE_MAX_SEQUENCES: '2', LOCAL_MEMORY_LIMIT: '' }))

  await page.goto(`/deployments/${id}?tab=settings`)
  await page.getByRole('button', { name: 'Change context' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Requests at the same time').fill('4')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await seeGone(dialog)
  await page.getByRole('tab', { name: 'Overview' }).click()
  const note = page.getByText(/takes effect when the engine starts next/)
  await see(note)
  expect(
    await page
      .getByRole('status')
      .filter({ hasText: /^(Running|Interrupted)$/ })
      .textContent(),
  ).toBe('Running')
  // The larger instance found no room. The page polls often until it is released.
  const path = `/api/v1/model-deployments/${id}`
  await expect
    .poll(() => callByApi(page.request, 'GET', path))
    .toMatchObject({ instances: [{ status: 'running' }] })
  expect(await countPolls(path)).toBeLessThanOrEqual(2)

  await page.goto('/deployments')
  await see(note)
  await see(page.getByText('Running', { exact: true }))
  expect(await page.getByText('Interrupted').count()).toBe(0)
  expect(await countPolls('/api/v1/model-deployments')).toBeLessThanOrEqual(2)
})

test('the deploy dialog plans with the chosen context, which embedding models do not have', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  const dialog = page.getByRole('dialog')
  const openDialog = async (model: string) => {
    await page.goto('/catalog')
    await page.getByRole('link', { name: model, exact: true }).click()
    await page.getByRole('button', { name: 'Deploy', exact: true }).first().click()
    await see(dialog.getByRole('region', { name: 'Hardware and price' }))
  }

  await openDialog('Qwen3')
  const planned = page.waitForRequest((request) => readMinimum(request) === 8_192)
  await dialog.getByLabel('Context').selectOption('At least 8,192 tokens')
  await planned

  await openDialog('Berth Tiny Embedding')
  expect(await dialog.getByLabel('Context').count()).toBe(0)
})

/** The minimum context of a request for a plan, in tokens */
function readMinimum(request: Request): unknown {
  if (!request.url().endsWith('/api/v1/model-deployments/plan')) return undefined
  return request.postDataJSON().min_context_tokens
}

/** Returns a function that counts the requests of the page for a path while 20 seconds pass in it. */
function followPolls(page: Page): (path: string) => Promise<number> {
  const requests: Request[] = []
  page.on('request', (request) => requests.push(request))
  return async (path) => {
    const listPolls = () => requests.filter((request) => new URL(request.url()).pathname === path)
    // A page sends no poll while it waits for an answer. A poll that a navigation cut off may never finish.
    const finish = async (poll: Request) => (await poll.response())?.finished()
    const settle = (from: number) =>
      Promise.all(
        listPolls()
          .slice(from)
          .map((poll) => Promise.race([finish(poll), delay(10_000)])),
      )
    // Only the clock's own steps pass time, so a slow machine adds no poll.
    await page.clock.pauseAt((await page.evaluate(() => Date.now())) + 1_000)
    await settle(0)
    const before = listPolls().length
    for (let second = 0; second < 20; second += 2) {
      await page.clock.runFor(2_000)
      await settle(before)
    }
    await page.clock.resume()
    return listPolls().length - before
  }
}
