import type { Page } from 'playwright-core'
import { see } from './steps.ts'

/** A script that the browser loaded, with the bytes that its body took on the way. */
export interface LoadedScript {
  path: string
  bytes: number
}

/** Opens the list of one's deployments, of which one runs, with an empty cache; lists the scripts that come until nothing more does. */
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
  await see(page.getByText('Running', { exact: true }))
  await page.waitForLoadState('networkidle')
  return Promise.all(scripts)
}
