import type { Page } from 'playwright-core'
import { heading, see } from './steps.ts'

/** A script that the browser loaded, with the bytes that its body took on the way. */
export interface LoadedScript {
  path: string
  bytes: number
}

/** Opens the deployments with an empty cache and lists the scripts that come until nothing more does. */
export async function measureFirstView(page: Page): Promise<LoadedScript[]> {
  const scripts: Promise<LoadedScript>[] = []
  page.on('requestfinished', (request) => {
    const { pathname } = new URL(request.url())
    if (!pathname.endsWith('.js')) return
    scripts.push(
      request.sizes().then(({ responseBodySize }) => ({ path: pathname, bytes: responseBodySize })),
    )
  })
  await page.goto('/deployments')
  await see(heading(page, 'Deployments'))
  await page.waitForLoadState('networkidle')
  return Promise.all(scripts)
}
