// Opens each scene and expects no violation that axe finds.
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { openVisitor } from './support/browser.ts'
import type { Visitor } from './support/browser.ts'
import { useConsole } from './support/console.ts'
import { seedServer } from './support/seed.ts'
import type { Actor, SeedData } from './support/seed.ts'
import { scenes } from './support/scenes.ts'
import { startConsoleTestServer } from './support/test-server.ts'

declare global {
  interface Window {
    axe: typeof axe
  }
}

const site = useConsole(startConsoleTestServer)
let seed: SeedData
const visitors = new Map<Actor, Visitor>()
beforeAll(async () => {
  seed = await seedServer(site.browser, site.server)
}, 240_000)

test.each(scenes)('$name: no axe violations in either theme', async ({ actor, open }) => {
  const { page, pageErrors } = await findVisitor(actor)
  await page.emulateMedia({ colorScheme: 'light' })
  await open(page, seed)
  // The content security policy blocks script elements, so inject axe through the debugger.
  await page.evaluate(axe.source)
  await simplifyPainting(page)
  expect(await findViolations(page)).toEqual([])
  // The dark theme differs in its colors only.
  await page.emulateMedia({ colorScheme: 'dark' })
  expect(await findViolations(page, ['color-contrast', 'link-in-text-block'])).toEqual([])
  expect(await page.locator('[role=dialog] form [type=submit]').count(), 'buttons above a footer').toBe(0)
  expect(pageErrors.splice(0)).toEqual([])
})

/** Each actor has one browser context for all scenes, so that the console's code is cached. */
async function findVisitor(actor: Actor): Promise<Visitor> {
  const known = visitors.get(actor)
  if (known) return known
  const visitor = await openVisitor(site.browser, site.server.url, {
    reducedMotion: 'reduce',
    storageState: seed.sessions[actor],
  })
  // Some scenes show rejected requests.
  visitor.allowPageErrors(/status of 4(0[01349]|22)/)
  visitors.set(actor, visitor)
  return visitor
}

/** Paints the rows that are out of view too, and ends transitions between colors. */
async function simplifyPainting(page: Page): Promise<void> {
  await page.evaluate(() => {
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(`
      * { content-visibility: visible !important }
      *, ::before, ::after { transition: none !important }`)
    document.adoptedStyleSheets.push(sheet)
  })
}

/** Runs the rules of axe, or only some; returns one line per violating element. */
async function findViolations(page: Page, only?: string[]): Promise<string[]> {
  // Describing every element that passes takes longer than the checks.
  return page.evaluate(
    async (options) => {
      const { violations } = await window.axe.run({ resultTypes: ['violations'], ...options })
      return violations.flatMap(({ id, help, nodes }) =>
        nodes.map(({ html, failureSummary }) => `${id} (${help}): ${html} ${failureSummary}`),
      )
    },
    only ? { runOnly: only } : {},
  )
}
