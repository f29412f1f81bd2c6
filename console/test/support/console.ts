import type { Browser, BrowserContextOptions } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { launchBrowser, openVisitor } from './browser.ts'
import type { Visitor } from './browser.ts'

/** The server and browser that the tests of one file share. */
export interface Console<Server> {
  server: Server
  browser: Browser
  /** Opens a browser context that closes after the test. */
  visit: (options?: BrowserContextOptions) => Promise<Visitor>
}

/**
 * Starts a server and a browser for the tests of one file. A console error or warning of a page fails its
 * test. When a test fails, the accessibility tree of each page is printed.
 */
export function useConsole<Server extends { url: string; close(): Promise<void> }>(
  startServer: () => Promise<Server>,
): Console<Server> {
  let server: Server
  let browser: Browser
  let visitors: Visitor[] = []

  beforeAll(async () => {
    browser = await launchBrowser()
    server = await startServer()
  })
  afterEach(async ({ task }) => {
    const all = visitors
    visitors = []
    for (const { page } of all) {
      if (task.result?.state !== 'fail') break
      const snapshot = await page.locator('body').ariaSnapshot({ timeout: 5_000 }).catch(String)
      console.error(`${page.url()} shows:\n${snapshot}`)
    }
    for (const { context } of all) await context.close()
    expect(all.flatMap(({ pageErrors }) => pageErrors)).toEqual([])
  })
  afterAll(async () => {
    await browser?.close()
    await server?.close()
  })

  return {
    get server() {
      return server
    },
    get browser() {
      return browser
    },
    async visit(options) {
      const visitor = await openVisitor(browser, server.url, options)
      visitors.push(visitor)
      return visitor
    },
  }
}
