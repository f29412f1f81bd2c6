import { createServer } from 'node:http'
import { expect, test } from 'vitest'
import { listen } from '../../server/test/support/listen.ts'
import { useConsole } from './support/console.ts'
import { startConsoleTestServer } from './support/test-server.ts'
import { createPerson } from './support/steps.ts'

/** A Berth server, and two other origins on the same host of which it trusts the first. */
async function startOrigins() {
  const pages = [0, 1].map(() =>
    createServer((_request, response) => {
      response.setHeader('content-type', 'text/html')
      response.end('<!doctype html><title>A console of your own</title>')
    }),
  )
  const [trusted, foreign] = await Promise.all(
    pages.map(async (page) => `http://localhost:${await listen(page)}`),
  )
  const server = await startConsoleTestServer({ CSRF_TRUSTED_ORIGINS: trusted! })
  return {
    url: server.url,
    trusted: trusted!,
    foreign: foreign!,
    async close() {
      await server.close()
      for (const page of pages) page.close()
    },
  }
}

const site = useConsole(startOrigins)

test('a page of a trusted origin registers, reads and changes in a browser, and one of another origin can’t', async () => {
  const { page, allowPageErrors } = await site.visit()
  allowPageErrors(/favicon|blocked by CORS|Failed to load resource/)
  const { email, password, organization } = createPerson()
  const api = new URL(site.server.url)
  api.hostname = 'localhost'
  /** Calls the API from the page, as a script there would. */
  const call = (method: string, path: string, body?: unknown) =>
    page.evaluate(
      async ([url, init]) => {
        const response = await fetch(url, init).catch(() => null)
        if (response === null) return null
        const { status, headers } = response
        const requestId = headers.get('x-request-id')
        return { status, requestId, body: (await response.json()) as { description?: string } }
      },
      [
        new URL(path, api).href,
        {
          method,
          credentials: 'include' as const,
          ...(body !== undefined && {
            headers: { 'content-type': 'application/json', 'x-stainless-os': 'Linux' },
            body: JSON.stringify(body),
          }),
        },
      ] as const,
    )

  await page.goto(site.server.trusted)
  expect(await call('POST', '/v1/user/register', { email, password, organization })).toMatchObject({
    status: 200,
  })
  const change = await call('PATCH', '/v1/organization', { description: 'From afar' })
  expect(change).toMatchObject({ status: 200, body: { description: 'From afar' } })
  expect(change?.requestId).toMatch(/^[\da-f-]{36}$/)
  expect(await call('GET', '/v1/no-such-route')).toMatchObject({ status: 404 })

  await page.goto(site.server.foreign)
  expect(await call('GET', '/v1/organization')).toBeNull()
  expect(await call('PATCH', '/v1/organization', { description: 'Mine' })).toBeNull()
})
