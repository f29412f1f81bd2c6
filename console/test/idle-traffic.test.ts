import { expect, test } from 'vitest'
import { useConsole } from './support/console.ts'
import { startConsoleTestServer } from './support/test-server.ts'
import { createPerson, deployByApi, registerByApi, see } from './support/steps.ts'

const site = useConsole(startConsoleTestServer)

test('an idle tab receives 304s, and a hidden tab sends nothing', async () => {
  const { page, context } = await site.visit()
  await page.clock.install()
  await registerByApi(page, createPerson())
  await deployByApi(page)
  await page.goto('/deployments')
  await see(page.getByText('Running', { exact: true }))

  const network = await context.newCDPSession(page)
  await network.send('Network.enable')
  let unchanged = 0
  network.on('Network.responseReceivedExtraInfo', ({ statusCode }) => {
    if (statusCode === 304) unchanged += 1
  })
  const poll = async () => {
    await page.clock.fastForward('00:16')
    return unchanged
  }
  await expect.poll(poll).toBeGreaterThanOrEqual(3)

  const sent: string[] = []
  page.on('request', (request) => sent.push(request.url()))
  const setVisibility = (state: DocumentVisibilityState) =>
    page.evaluate((value) => {
      Object.defineProperty(document, 'visibilityState', { configurable: true, value })
      document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))
    }, state)
  await setVisibility('hidden')
  await page.clock.fastForward('30:00')
  expect(sent).toEqual([])
  await setVisibility('visible')
  await expect.poll(() => sent.length).toBeGreaterThan(0)
})
