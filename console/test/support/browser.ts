import { chromium } from 'playwright-core'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { findChromium } from './chromium.ts'
import { waitTimeout } from './server.ts'

/** A person with a separate browser context. */
export interface Visitor {
  page: Page
  context: BrowserContext
  /** Console errors and warnings, content security policy violations and exceptions so far. */
  pageErrors: string[]
  /** Ignores matching page errors from now on, such as a 409 that the test causes. */
  allowPageErrors: (pattern: RegExp) => void
}

/** How the API says that an organization has no webhook: a browser reports each 404. */
const noWebhook = /status of 404 .*\/v1\/organization\/alert-webhook$/

/** The news of each page end with the network, the server or the session: a browser reports that too. */
const endedNews = /(net::ERR_\w+|status of (401|503)) .*\/v1\/events$/

/** Launches the Chromium that `findChromium` finds. */
export async function launchBrowser(): Promise<Browser> {
  const { executablePath, env } = await findChromium()
  return chromium.launch({
    executablePath,
    env: { ...process.env, ...env },
    // Most people see scrollbars that take room, and only they see one that should not be there.
    ignoreDefaultArgs: ['--hide-scrollbars'],
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
}

/** Opens a browser context; by default in US English and the light theme, 1280 by 800 pixels. */
export async function openVisitor(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<Visitor> {
  const context = await browser.newContext({
    baseURL: url,
    locale: 'en-US',
    timezoneId: 'UTC',
    colorScheme: 'light',
    viewport: { width: 1280, height: 800 },
    ...options,
  })
  context.setDefaultTimeout(waitTimeout)
  const pageErrors: string[] = []
  const expected = [noWebhook, endedNews]
  const report = (words: string) => {
    if (!expected.some((pattern) => pattern.test(words))) pageErrors.push(words)
  }
  context.on('console', (message) => {
    if (!['error', 'warning'].includes(message.type())) return
    report(`${message.type()}: ${message.text()} at ${message.location().url}`)
  })
  // Requests that are still open when a person signs out, or deletes the account, arrive without a session.
  context.on('request', (request) => {
    const change = `${request.method()} ${new URL(request.url()).pathname}`
    if (/^(POST .*\/v1\/user\/logout|DELETE .*\/v1\/user)$/.test(change)) expected.push(/status of 401/)
  })
  context.on('weberror', (error) => report(`exception: ${error.error().stack}`))
  const page = await context.newPage()
  return { page, context, pageErrors, allowPageErrors: (pattern) => void expected.push(pattern) }
}
