import type { Page } from 'playwright-core'
import { see } from './steps.ts'

/** A loaded script with the transferred bytes of its body. */
export interface LoadedScript {
  path: string
  bytes: number
}

/** Opens the deployments page with an empty cache and lists the loaded scripts. The person must have one running deployment. */
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
