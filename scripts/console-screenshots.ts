// Captures each page and main dialog of the console in both themes, on a phone, a small and a wide screen:
// `npm run console:screenshots [folder] [part of a name]`. `readme` captures the images of docs/screenshots.
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser, openVisitor } from '../console/test/support/browser.ts'
import { seedServer } from '../console/test/support/seed.ts'
import type { SeedData } from '../console/test/support/seed.ts'
import { addPastUsage } from '../console/test/support/past-usage.ts'
import { scenes } from '../console/test/support/scenes.ts'
import type { Scene } from '../console/test/support/scenes.ts'
import { startConsoleServer } from '../console/test/support/server.ts'
import { startEmbeddedDatabase } from '../server/src/database/embedded.ts'

type Theme = 'light' | 'dark'

/** How to capture a scene. */
interface Viewport {
  width: number
  height: number
  themes: readonly Theme[]
  /** Whether to capture the whole page or only the window. */
  fullPage: boolean
}

const viewports: readonly Viewport[] = [
  { width: 1280, height: 800, themes: ['light', 'dark'], fullPage: true },
  { width: 1024, height: 768, themes: ['light', 'dark'], fullPage: true },
  { width: 390, height: 844, themes: ['light', 'dark'], fullPage: true },
]

const readme: Record<string, Theme> = { deployments: 'light', catalog: 'light', playground: 'dark' }

/** The scenes to capture, in order. */
function listCaptures(wanted: string): { scene: Scene; viewport: Viewport }[] {
  if (wanted !== 'readme') {
    const named = scenes.filter(({ name }) => name.includes(wanted))
    return named.flatMap((scene) => viewports.map((viewport) => ({ scene, viewport })))
  }
  return Object.entries(readme).flatMap(([wantedName, theme]) => {
    const viewport: Viewport = { width: 1440, height: 900, themes: [theme], fullPage: false }
    return scenes.filter(({ name }) => name === wantedName).map((scene) => ({ scene, viewport }))
  })
}

async function main(folder: string, wanted: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  await using cleanup = new AsyncDisposableStack()
  const databaseDirectory = await mkdtemp(join(tmpdir(), 'berth-screenshots-'))
  cleanup.defer(() => rm(databaseDirectory, { recursive: true, force: true, maxRetries: 5 }))
  // When root starts PostgreSQL, it runs under its own account, which needs access.
  await chmod(databaseDirectory, 0o755)
  const database = await startEmbeddedDatabase({ dataDirectory: databaseDirectory, log: () => {} })
  cleanup.defer(() => database.stop())
  const server = await startConsoleServer({ DATABASE_URL: database.url, BILLING_TRIAL_MAX_ACTIVE: '3' })
  cleanup.defer(() => server.close())
  const browser = await launchBrowser()
  cleanup.defer(() => browser.close())

  const seed = await seedServer(browser, server)
  await addPastUsage(database.url)
  for (const { scene, viewport } of listCaptures(wanted)) {
    console.log(`${scene.name} ${viewport.width}`)
    await captureScene(browser, server.url, seed, scene, viewport, folder)
  }
}

/** Captures a scene in each theme. A scene with a dialog or menu is captured at window size. */
async function captureScene(
  browser: Browser,
  url: string,
  seed: SeedData,
  { actor, open, name }: Scene,
  { width, height, themes, fullPage }: Viewport,
  folder: string,
): Promise<void> {
  const { page, context, pageErrors, allowPageErrors } = await openVisitor(browser, url, {
    viewport: { width, height },
    reducedMotion: 'reduce',
    storageState: seed.sessions[actor],
  })
  allowPageErrors(/status of 4(0[0149]|22)/)
  try {
    await open(page, seed)
    await page.evaluate('document.fonts.ready.then(() => undefined)')
    await page.mouse.move(0, 0)
    const isCovered = (await page.getByRole('dialog').or(page.getByRole('menu')).count()) > 0
    if (fullPage && !isCovered) await growViewport(page, width, height)
    for (const colorScheme of themes) {
      await page.emulateMedia({ colorScheme })
      const path = join(folder, `${name}-${colorScheme}-${width}.png`)
      await page.screenshot({ path, animations: 'disabled', caret: 'hide' })
    }
  } catch (error) {
    pageErrors.push(`failed to load: ${error instanceof Error ? error.message : String(error)}`)
  } finally {
    await context.close()
  }
  if (pageErrors.length > 0) process.exitCode = 1
  for (const pageError of pageErrors) console.error(`${name}: ${pageError}`)
}

/** Grows the window to the page, because full-page screenshots place sticky elements in the middle. */
async function growViewport(page: Page, width: number, height: number): Promise<void> {
  const needed = Number(await page.evaluate('document.documentElement.scrollHeight'))
  if (needed > height) await page.setViewportSize({ width, height: Math.min(needed, 4_000) })
}

// An unknown option must not become a folder.
const [folder = 'screenshots', wanted = ''] = parseArgs({ allowPositionals: true }).positionals
await main(resolve(folder), wanted)
