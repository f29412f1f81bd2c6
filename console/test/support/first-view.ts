import type { Locator, Page } from 'playwright-core'
import { see } from './steps.ts'

/** A loaded script with the transferred bytes of its body. */
export interface LoadedScript {
  path: string
  bytes: number
}

export interface FirstView {
  /** The scripts that the HTML names */
  scripts: LoadedScript[]
  /** The scripts that load afterwards */
  lateScripts: LoadedScript[]
  /** The paths of the API requests before `content` was visible, with queries */
  requests: string[]
  /** Those of all API requests until the page is idle */
  allRequests: string[]
}

/** Opens a page with an empty cache, waits for `content`, and lists what the page loaded. */
export async function measureFirstView(page: Page, path: string, content: Locator): Promise<FirstView> {
  // The previous page may still load files of its own.
  await page.goto('about:blank')
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('Network.clearBrowserCache')
  const scripts: Promise<LoadedScript>[] = []
  const requests: string[] = []
  const allRequests: string[] = []
  page.on('request', (request) => {
    const url = new URL(request.url())
    if (isOfApi(url)) allRequests.push(url.pathname + url.search)
  })
  page.on('requestfinished', (request) => {
    const url = new URL(request.url())
    const { pathname, search } = url
    if (isOfApi(url)) requests.push(pathname + search)
    if (!pathname.endsWith('.js')) return
    scripts.push(
      request.sizes().then(({ responseBodySize }) => ({ path: pathname, bytes: responseBodySize })),
    )
  })
  const response = await page.goto(path)
  const html = (await response?.text()) ?? ''
  await see(content)
  const firstRequests = [...requests]
  await page.waitForLoadState('networkidle')
  page.removeAllListeners('request')
  page.removeAllListeners('requestfinished')
  // A preload and its import may both ask for a script. The cache answers one, whose size is negative.
  const all = await Promise.all(scripts)
  const loaded = [...Map.groupBy(all, ({ path: script }) => script).values()].map(
    (same) => same.toSorted((one, other) => other.bytes - one.bytes)[0]!,
  )
  return {
    scripts: loaded.filter((script) => html.includes(script.path)),
    lateScripts: loaded.filter((script) => !html.includes(script.path)),
    requests: firstRequests,
    allRequests,
  }
}

/** Whether a request is one of the API. */
export const isOfApi = ({ pathname }: URL) => /^\/(api\/)?v1\//.test(pathname)
