import type { Browser, BrowserContextOptions } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { launchBrowser, openVisitor } from './browser.ts'
import type { Visitor } from './browser.ts'

/** What the tests of one file share. */
export interface Console<Server> {
  server: Server
  browser: Browser
  /** Somebody with a browser of their own, until the end of the test. */
  visit: (options?: BrowserContextOptions) => Promise<Visitor>
}

/**
 * A server and a browser for the tests of one file. What a page complains about in its console fails the test; what it shows
 * is written out when a test fails.
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
    expect(all.flatMap(({ complaints }) => complaints)).toEqual([])
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
