import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { openVisitor } from './browser.ts'
import type { Visitor } from './browser.ts'
import { useConsole } from './console.ts'
import { seedServer } from './seed.ts'
import type { Actor, SeedData } from './seed.ts'
import { scenes } from './scenes.ts'
import { startConsoleTestServer } from './test-server.ts'

declare global {
  interface Window {
    axe: typeof axe
  }
}

/** Opens each scene in a theme and expects no violation that axe finds. */
export function checkScenes(theme: 'light' | 'dark'): void {
  const site = useConsole(startConsoleTestServer)
  let seed: SeedData
  const visitors = new Map<Actor, Visitor>()
  beforeAll(async () => {
    seed = await seedServer(site.browser, site.server)
  }, 240_000)

  test.each(scenes)(`$name: no axe violations in the ${theme} theme`, async ({ actor, open }) => {
    const { page, pageErrors } = await findVisitor(actor)
    await open(page, seed)
    // The content security policy blocks script elements, so inject axe through the debugger.
    await page.evaluate(axe.source)
    await simplifyPainting(page)
    expect(await findViolations(page, theme)).toEqual([])
    expect(await page.locator('[role=dialog] form [type=submit]').count(), 'buttons above a footer').toBe(0)
    expect(pageErrors.splice(0)).toEqual([])
  })

  /** Each actor has one browser context for all scenes, so that the console's code is cached. */
  async function findVisitor(actor: Actor): Promise<Visitor> {
    const known = visitors.get(actor)
    if (known) return known
    const visitor = await openVisitor(site.browser, site.server.url, {
      reducedMotion: 'reduce',
      colorScheme: theme,
      storageState: seed.sessions[actor],
    })
    // Some scenes show rejected requests.
    visitor.allowPageErrors(/status of 4(0[01349]|22)/)
    visitors.set(actor, visitor)
    return visitor
  }
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

/**
 * Runs axe; returns one line per violating element. The dark theme differs in its colors only, so it has the
 * rules about colors only.
 */
async function findViolations(page: Page, theme: 'light' | 'dark'): Promise<string[]> {
  const rules = theme === 'dark' ? { runOnly: ['color-contrast', 'link-in-text-block'] } : {}
  // Describing every element that passes takes longer than the checks.
  return page.evaluate(async (only) => {
    const { violations } = await window.axe.run({ resultTypes: ['violations'], ...only })
    return violations.flatMap(({ id, help, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id} (${help}): ${html} ${failureSummary}`),
    )
  }, rules)
}
