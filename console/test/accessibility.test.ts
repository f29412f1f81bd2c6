import axe from 'axe-core'
import type { AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { useConsole } from './support/console.ts'
import { fillServer } from './support/fill.ts'
import type { Filled } from './support/fill.ts'
import { scenes } from './support/scenes.ts'
import { startConsoleServer } from './support/server.ts'

declare global {
  interface Window {
    axe: typeof axe
  }
}

const site = useConsole(startConsoleServer)
let filled: Filled
beforeAll(async () => {
  filled = await fillServer(site.browser, site.server)
}, 240_000)

test.each(scenes)('$name: nothing that axe finds, in light or dark', async ({ actor, open }) => {
  const { page, expectComplaint } = await site.visit({
    reducedMotion: 'reduce',
    storageState: filled.sessions[actor],
  })
  // Some scenes are about what is refused.
  expectComplaint(/status of 4(0[0149]|22)/)
  await open(page, filled)
  // From outside: the page's own policy would not let it in.
  await page.evaluate(axe.source)
  expect(await findViolations(page)).toEqual([])
  await page.emulateMedia({ colorScheme: 'dark' })
  expect(await findViolations(page)).toEqual([])
})

/** What axe finds, one line for each element. */
async function findViolations(page: Page): Promise<string[]> {
  const { violations } = await page.evaluate((): Promise<AxeResults> => window.axe.run())
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id} (${help}): ${html} ${failureSummary}`),
  )
}
