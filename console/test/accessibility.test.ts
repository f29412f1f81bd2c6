import axe from 'axe-core'
import type { AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
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

describe.each(['light', 'dark'] as const)('in %s', (colorScheme) => {
  test.each(scenes)('$name', async ({ actor, open }) => {
    const visitor = await site.visit({
      colorScheme,
      reducedMotion: 'reduce',
      storageState: filled.sessions[actor],
    })
    // Some scenes are about what is refused.
    visitor.expectComplaint(/status of 40[0149]/)
    await open(visitor.page, filled)
    expect(await findViolations(visitor.page)).toEqual([])
  })
})

/** What axe finds, one line for each element. The policy of the page is not asked: it runs from outside. */
async function findViolations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate((): Promise<AxeResults> => window.axe.run())
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id} (${help}): ${html} ${failureSummary}`),
  )
}
