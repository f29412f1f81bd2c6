import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createServer } from 'vite'
import { expect, test } from 'vitest'
import { useConsole } from './support/console.ts'
import { startConsoleTestServer } from './support/test-server.ts'
import { see } from './support/steps.ts'

/** `npm run dev --workspace console` in front of a server. */
async function startDevelopment() {
  const server = await startConsoleTestServer()
  process.env.BERTH_URL = server.url
  const cacheDir = await mkdtemp(join(tmpdir(), 'berth-vite-'))
  const vite = await createServer({
    root: resolve(import.meta.dirname, '..'),
    cacheDir,
    logLevel: 'error',
    server: { port: 0, host: '127.0.0.1' },
  })
  await vite.listen()
  return {
    url: vite.resolvedUrls?.local[0] ?? '',
    async close() {
      await vite.close()
      delete process.env.BERTH_URL
      await server.close()
      await rm(cacheDir, { recursive: true })
    },
  }
}

const site = useConsole(startDevelopment)

test("the development server's pages have the theme that was chosen", async () => {
  const { page, context, allowPageErrors } = await site.visit()
  allowPageErrors(/401/)
  await context.addCookies([{ name: 'theme', value: 'dark', url: site.server.url }])
  await page.goto('/sign-in')
  await see(page.getByRole('button', { name: 'Sign in', exact: true }))
  expect(await page.locator('html').getAttribute('data-theme')).toBe('dark')
})
