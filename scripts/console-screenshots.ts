// Takes every page of the console and its main dialogs, in light and dark, on a phone and a wide screen, from a server filled for
// it: `npm run console:screenshots [folder] [part of a name]`.
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser, openVisitor } from '../console/test/support/browser.ts'
import { fillServer } from '../console/test/support/fill.ts'
import type { Filled } from '../console/test/support/fill.ts'
import { addPastUsage } from '../console/test/support/past-usage.ts'
import { scenes } from '../console/test/support/scenes.ts'
import type { Scene } from '../console/test/support/scenes.ts'
import { startConsoleServer } from '../console/test/support/server.ts'
import { startEmbeddedDatabase } from '../server/src/database/embedded.ts'

const sizes = [
  { width: 1440, height: 900 },
  { width: 390, height: 844 },
]
const themes = ['light', 'dark'] as const

async function main(folder: string, wanted: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  await using cleanup = new AsyncDisposableStack()
  const databaseDirectory = await mkdtemp(join(tmpdir(), 'berth-screenshots-'))
  cleanup.defer(() => rm(databaseDirectory, { recursive: true, force: true, maxRetries: 5 }))
  // Started by root, PostgreSQL has an account of its own, which must get in.
  await chmod(databaseDirectory, 0o755)
  const database = await startEmbeddedDatabase({ dataDirectory: databaseDirectory, log: () => {} })
  cleanup.defer(() => database.stop())
  const server = await startConsoleServer({ DATABASE_URL: database.url, BILLING_TRIAL_MAX_ACTIVE: '3' })
  cleanup.defer(() => server.close())
  const browser = await launchBrowser()
  cleanup.defer(() => browser.close())

  const filled = await fillServer(browser, server)
  await addPastUsage(database.url)
  for (const scene of scenes.filter(({ name }) => name.includes(wanted))) {
    for (const viewport of sizes) await takeScene(browser, server.url, filled, scene, viewport, folder)
    console.log(scene.name)
  }
}

/** The whole page in both themes; where something lies over it, what is in sight. */
async function takeScene(
  browser: Browser,
  url: string,
  filled: Filled,
  { actor, open, name }: Scene,
  viewport: { width: number; height: number },
  folder: string,
): Promise<void> {
  const { page, context, complaints, expectComplaint } = await openVisitor(browser, url, {
    viewport,
    reducedMotion: 'reduce',
    storageState: filled.sessions[actor],
  })
  expectComplaint(/status of 4(0[0149]|22)/)
  try {
    await open(page, filled)
    await page.evaluate('document.fonts.ready.then(() => undefined)')
    await page.mouse.move(0, 0)
    const isCovered = (await page.getByRole('dialog').or(page.getByRole('menu')).count()) > 0
    if (!isCovered) await makeRoom(page, viewport)
    for (const colorScheme of themes) {
      await page.emulateMedia({ colorScheme })
      const path = join(folder, `${name}-${colorScheme}-${viewport.width}.png`)
      await page.screenshot({ path, animations: 'disabled', caret: 'hide' })
    }
  } catch (error) {
    complaints.push(`did not come about: ${error instanceof Error ? error.message : String(error)}`)
  } finally {
    await context.close()
  }
  if (complaints.length > 0) process.exitCode = 1
  for (const complaint of complaints) console.error(`${name}: ${complaint}`)
}

/** Makes the window as high as the page: taken beyond the window, what sticks to it would end in the middle. */
async function makeRoom(page: Page, { width, height }: { width: number; height: number }): Promise<void> {
  const needed = Number(await page.evaluate('document.documentElement.scrollHeight'))
  if (needed > height) await page.setViewportSize({ width, height: Math.min(needed, 4_000) })
}

const [folder = 'screenshots', wanted = ''] = process.argv.slice(2)
await main(resolve(folder), wanted)
