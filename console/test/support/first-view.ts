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
  const scripts: Promise<LoadedScript>[] = []
  const requests: string[] = []
  const allRequests: string[] = []
  page.on('request', (request) => {
    const { pathname, search } = new URL(request.url())
    if (isOfApi(pathname)) allRequests.push(pathname + search)
  })
  page.on('requestfinished', (request) => {
    const { pathname, search } = new URL(request.url())
    if (isOfApi(pathname)) requests.push(pathname + search)
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
  const loaded = await Promise.all(scripts)
  return {
    scripts: loaded.filter((script) => html.includes(script.path)),
    lateScripts: loaded.filter((script) => !html.includes(script.path)),
    requests: firstRequests,
    allRequests,
  }
}

const isOfApi = (pathname: string) => /^\/(api\/)?v1\//.test(pathname)
